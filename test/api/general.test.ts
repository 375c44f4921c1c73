import { beforeAll, describe, expect, test } from 'bun:test'
import { ask, expectAll, outcomeOf } from '../support/cases.ts'
import { sendRaw } from '../support/raw.ts'
import { createRow, createRows, listed } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const COLLECTION = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'
const ITEM = 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'
const PAGE = 'GET, HEAD, OPTIONS'

const server = useServer()
beforeAll(() => createRows(server, '/Companies', [{ Name: 'Acme', Enabled: true }, { Name: 'Beta' }]))

describe('1 General rules', () => {
  test.each([
    ['GET /', 200, undefined],
    ['GET /Companies', 200, undefined],
    ['GET /Companies/1', 200, undefined],
    ['POST /Companies', 201, { Name: 'Typed' }],
    ['PUT /Companies/2', 200, { Name: 'Beta' }],
    ['PATCH /Companies/1', 200, {}],
    ['GET /Nowhere', 404, undefined],
    ['GET /Companies?Nmae=x', 400, undefined],
    ['POST /Companies', 400, 'no json'],
    ['PUT /Companies', 405, {}],
  ])(
    'rule 3, D3: the Content-Type of the answer to %s (%d) is exactly application/json; charset=utf-8',
    async (line, status, body) => {
      const answer = await ask(server, [line, body])
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, JSON_TYPE])
    },
  )

  test.each(['/Companies', '/companies', '/COMPANIES/', '/companies/'])(
    'rule 6, D1: %s is the list of companies',
    async (path) => {
      expect(await listed(server, `${path}?sort=Id&PageSize=5`)).toEqual(expect.arrayContaining(['Acme', 'Beta']) as never)
      const { id } = await createRow(server, path, { Name: 'By any name' })
      // One slash after an id is ignored, too.
      expect((await server.get(`/cOmPaNiEs/${id}/`)).body).toEqual({ id, name: 'By any name', enabled: false })
    },
  )

  test.each(['Name=Acme&PageSize=5&page=1&sort=Id', 'name=Acme&pagesize=5&PAGE=1&SORT=Id', 'NAME=Acme&PAGESIZE=5&Sort=id'])(
    'rule 5, D1: parameter names match in upper or lower case: %s',
    async (query) => expect(await listed(server, `/Companies?${query}`)).toEqual(['Acme']),
  )

  test('D3: every property is in the JSON, null if it has no value', async () => {
    const { text } = await server.post('/Absences', {})
    expect(text).toMatch(
      /^\{"id":\d+,"status":null,"employeeId":null,"employee":null,"type":null,"reason":null,"start":null,"end":null,"period":null\}$/,
    )
  })
})

describe('4.1 Methods and paths', () => {
  test.each(['/Companies', '/Companies/1', '/', '/livez', '/readyz', '/errors/NotFound'])(
    'D19: HEAD %s is answered as GET, without a body',
    async (path) => {
      const get = await server.get(path)
      const { status, text, headers } = await server.send('HEAD', path)
      expect([status, text, headers.get('content-type')]).toEqual([200, '', get.headers.get('content-type')])
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)))
    },
  )

  test.each([
    ['/Companies/999999', 404],
    ['/Nowhere', 404],
    ['/Companies?Nmae=x', 400],
  ])('D19: HEAD %s has the status of GET, %d', async (path, status) => {
    const { text, ...answer } = await server.send('HEAD', path)
    expect([answer.status, text, (await server.get(path)).status]).toEqual([status, '', status])
  })

  test.each([
    ['OPTIONS /Companies', '204', COLLECTION],
    ['OPTIONS /absences/', '204', COLLECTION],
    ['OPTIONS /Companies/1', '204', ITEM],
    ['OPTIONS /Employees/999999', '204', ITEM],
    ['OPTIONS /', '204', PAGE],
    ['OPTIONS /livez', '204', PAGE],
    ['PUT /Companies', '405 MethodNotAllowed Api', COLLECTION],
    ['POST /Companies/1', '405 MethodNotAllowed Api', ITEM],
    ['POST /', '405 MethodNotAllowed Api', PAGE],
    ['DELETE /livez', '405 MethodNotAllowed Api', PAGE],
  ])('D19: %s is %s with Allow, and changes nothing', async (line, outcome, allow) => {
    const answer = await ask(server, [line, line.startsWith('P') ? { Name: 'Other' } : undefined])
    expect([outcomeOf(answer), answer.headers.get('allow')?.split(', ').sort().join(', ')]).toEqual([outcome, allow])
    expect((await server.get('/Companies/1')).body.name).toBe('Acme')
  })

  test.each([
    ...['/Nowhere', '/Company', '/v1/Companies', '/api/Companies', '/Companies//', '/Companies/1//', '/Companies/1/Name'],
    ...['/Companies/1/Employees', '/Companies%2F1', '/errors/NoSuchCode', '/docs/nothing.js', '/%ZZ', '/__proto__'],
  ])('rule 1, D1, D5, D19: the path %s is unknown: 404', (path) => expectAll(server, '404 NotFound Api', [[`GET ${path}`]]))

  test.each(['//Companies', '//Companies/1', '/Companies//1'])(
    'D19: an empty segment of a path is not skipped: %s',
    async (path) => {
      expect((await sendRaw(server, `GET ${path}`)).status).toBe(404)
    },
  )

  test('D19: OPTIONS on an unknown path is 404', () => expectAll(server, '404 NotFound Api', [['OPTIONS /Nowhere']]))
})
