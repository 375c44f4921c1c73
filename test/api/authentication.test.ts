import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { errorOf, KEY, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const REFUSED = { status: 401, code: 'Unauthorized', target: 'Api' }

describe('5 Authentication', () => {
  test('rule 1: Authorization: ApiKey <key> lets a request in', async () => {
    expect((await server.get('/Companies', { authorization: `ApiKey ${KEY}` })).status).toBe(200)
  })

  test.each([`apikey ${KEY}`, `APIKEY ${KEY}`, `aPiKeY ${KEY}`, `ApiKey    ${KEY}`, `apikey  ${KEY}`])(
    'D33: the scheme word in any case and one space or more: "%s"',
    async (authorization) => {
      expect((await server.get('/Companies', { authorization })).status).toBe(200)
    },
  )

  test.each([
    ['none', ''],
    ['the scheme alone', 'ApiKey'],
    ['an empty key', 'ApiKey '],
    ['the key alone', KEY],
    ['no space', `ApiKey${KEY}`],
    ['a tab for the space', `ApiKey\t${KEY}`],
    ['another separator', `ApiKey=${KEY}`],
    ['another scheme', `Bearer ${KEY}`],
    ['a scheme that begins alike', `ApiKeyX ${KEY}`],
    ['two keys', `ApiKey ${KEY} ${KEY}`],
    ['a quoted key', `ApiKey "${KEY}"`],
    ['an unknown key', 'ApiKey unknown-key-0123456789'],
    ['the key in another case', `ApiKey ${KEY.toUpperCase()}`],
    ['a part of the key', `ApiKey ${KEY.slice(0, -1)}`],
    ['more than the key', `ApiKey ${KEY}0`],
    ['a very long key', `ApiKey ${'k'.repeat(4_000)}`],
  ])('D33: %s is 401 with WWW-Authenticate: ApiKey', async (_, authorization) => {
    const answer = await server.get('/Companies', { authorization })
    expect(errorOf(answer)).toEqual(REFUSED)
    expect(answer.headers.get('www-authenticate')).toBe('ApiKey')
  })

  test('D33: a missing, a malformed and an unknown key get the same body', async () => {
    const bodies: string[] = []
    for (const authorization of ['', 'ApiKey', `Bearer ${KEY}`, 'ApiKey unknown-key-0123456789'])
      bodies.push((await server.get('/Companies', { authorization })).text)
    expect(new Set(bodies).size).toBe(1)
  })

  test('D33: a request without the header at all is 401', async () => {
    const response = await fetch(`${server.url}/Companies`)
    expect(response.status).toBe(401)
    expect((await response.json()) as object).toMatchObject({ Error: { Code: 'Unauthorized' } })
  })

  test.each(['ApiKey', 'apikey', 'access_token', 'key'])('D33: a key in the query as %s is none', async (name) => {
    expect(errorOf(await server.get(`/Companies?${name}=${KEY}`, { authorization: '' }))).toEqual(REFUSED)
  })

  test.each([
    ['application/json', JSON.stringify({ access_token: KEY, ApiKey: KEY })],
    ['application/x-www-form-urlencoded', `access_token=${KEY}&ApiKey=${KEY}`],
  ])('D33: a key in a body of type %s is none', async (type, body) => {
    const answer = await server.send('POST', '/Companies', body, { 'content-type': type, authorization: '' })
    expect(errorOf(answer)).toEqual(REFUSED)
  })

  test.each([
    ['GET', '/Companies'],
    ['GET', '/Employees/1'],
    ['POST', '/Companies'],
    ['PUT', '/Companies/1'],
    ['PATCH', '/Companies/1'],
    ['DELETE', '/Companies/1'],
    ['GET', '/Nowhere'],
  ])('D33: %s %s without a key is 401, whether it exists or not', async (method, path) => {
    expect(errorOf(await server.send(method, path, undefined, { authorization: '' }))).toEqual(REFUSED)
  })

  test('D33: without a key nothing is written', async () => {
    await server.send('POST', '/Companies', { Name: 'Intruder' }, { authorization: '' })
    expect(await server.sql`select count(*)::int as rows from company`).toEqual([{ rows: 0 }] as never)
  })

  test.each(['/', '/livez', '/readyz', '/errors/NotFound'])(
    'D33: %s is open, without a key and with a wrong one',
    async (path) => {
      expect((await server.get(path, { authorization: '' })).status).toBe(200)
      expect((await server.get(path, { authorization: 'ApiKey wrong' })).status).toBe(200)
    },
  )
})
