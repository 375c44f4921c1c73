import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRow, createRows, listed } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await createRows(server, '/Companies', [{ Name: 'Acme', Enabled: true }, { Name: 'Beta' }])
})
afterAll(() => server.stop())

describe('1 General rules', () => {
  test.each(['Companies', 'Employees', 'Absences'])('rule 1: %s is a first path segment', async (name) => {
    const { status, body } = await server.get(`/${name}`)
    expect({ status, isArray: Array.isArray(body) }).toEqual({ status: 200, isArray: true })
  })

  test.each(['/v1/Companies', '/api/Companies', '/Company'])(
    'rule 1, D5: %s is no resource, there are no versions in paths',
    async (path) => {
      expect(errorOf(await server.get(path))).toEqual({ status: 404, code: 'NotFound', target: 'Api' })
    },
  )

  test.each(['text/plain', 'text/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'rule 2: a body declared as %s is rejected, even if it is JSON, and nothing is written',
    async (type) => {
      const answer = await server.send('POST', '/Companies', '{"Name":"Unwanted"}', { 'content-type': type })
      expect(errorOf(answer)).toEqual({ status: 415, code: 'UnsupportedMediaType', target: 'Body' })
      expect(await listed(server, '/Companies?Name=Unwanted')).toEqual([])
    },
  )

  test('rule 3, D3: successful answers are application/json; charset=utf-8 to the letter', async () => {
    const { body: created, headers } = await server.post('/Companies', { Name: 'Typed' })
    const path = `/Companies/${created.id}`
    const answers = [await server.get('/'), await server.get('/Companies'), await server.get(path)]
    answers.push(await server.put(path, { Name: 'Typed' }), await server.patch(path, {}))
    const types = [headers, ...answers.map((answer) => answer.headers)].map((each) => each.get('content-type'))
    expect(types).toEqual(Array(6).fill(JSON_TYPE))
  })

  test('rule 3, D3: errors have that content type too', async () => {
    const answers = [
      await server.get('/Nowhere'),
      await server.get('/Companies?Nmae=x'),
      await server.get('/Companies', { authorization: '' }),
      await server.post('/Companies', 'no json'),
      await server.remove('/Companies'),
    ]
    expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual(
      [404, 400, 401, 400, 405].map((status) => [status, JSON_TYPE]),
    )
  })

  test.each([
    ['/Companies', { Name: 'Cased' }],
    ['/Employees', { FirstName: 'Cased' }],
    ['/Absences', { Period: { Prefered: 'Hours' } }],
  ])('rule 4: property names of %s in answers are lower camel case', async (path, body) => {
    const row = await createRow(server, path, body)
    const names = [...Object.keys(row), ...Object.keys(row.period ?? {})]
    expect(names.filter((name) => !/^[a-z][A-Za-z]*$/.test(name))).toEqual([])
    expect(names).toContain('id')
  })

  test('rule 5: Pascal case names work in filters, sorts and bodies', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Pascal', Enabled: true })
    const { body } = await server.get('/Companies?Name=Pascal&Enabled=true&sort=-Id')
    expect(body).toEqual([{ id, name: 'Pascal', enabled: true }])
  })

  test.each(['/Companies', '/companies', '/COMPANIES/', '/companies/'])('rule 6, D1: %s is the companies', async (path) => {
    expect(await listed(server, `${path}?sort=Id&PageSize=5`)).toEqual(expect.arrayContaining(['Acme', 'Beta']) as never)
    const { id } = await createRow(server, path, { Name: 'By any name' })
    expect((await server.get(`/Companies/${id}`)).body).toEqual({ id, name: 'By any name', enabled: false })
  })

  test('D1: one slash behind an id is ignored', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Slashed' })
    const { status, body } = await server.get(`/cOmPaNiEs/${id}/`)
    expect({ status, body }).toEqual({ status: 200, body: { id, name: 'Slashed', enabled: false } })
  })

  test.each(['/Companies//', '/Companies/1//', '/Companies/1/Name'])('D1: %s, more than that, is 404', async (path) => {
    expect(errorOf(await server.get(path))).toMatchObject({ status: 404, code: 'NotFound' })
  })

  test.each(['name=Acme&pagesize=5&PAGE=1&SORT=Id', 'NAME=Acme&PAGESIZE=5&page=1&Sort=id'])(
    'D1: parameter names match in any case: %s',
    async (query) => {
      expect(await listed(server, `/Companies?${query}`)).toEqual(['Acme'])
    },
  )

  test('D3: every field is there, null where there is no value', async () => {
    const { text } = await server.post('/Absences', {})
    expect(text).toMatch(
      /^\{"id":\d+,"status":null,"employeeId":null,"employee":null,"type":null,"reason":null,"start":null,"end":null,"period":null\}$/,
    )
  })
})
