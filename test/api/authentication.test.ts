import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { KeyStore } from '../../src/keys/store.ts'
import { until } from '../support/process.ts'
import { sendRaw } from '../support/raw.ts'
import { errorOf, KEY, makeKey, startServer, type TestKey, type TestServer } from '../support/server.ts'

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
    for (const authorization of ['', 'ApiKey', `ApiKey ${KEY} ${KEY}`, 'ApiKey unknown-key-0123456789'])
      bodies.push((await server.get('/Companies', { authorization })).text)
    expect(new Set(bodies).size).toBe(1)
  })

  const messageFor = async (headers: Record<string, string>) => {
    const answer = await server.get('/Companies', { authorization: '', ...headers })
    expect([errorOf(answer), answer.headers.get('www-authenticate')]).toEqual([REFUSED, 'ApiKey'])
    expect(answer.text).not.toContain(KEY)
    return answer.body.Error.Message as string
  }

  test.each([
    [{ authorization: `Bearer ${KEY}` }, 'The scheme is ApiKey, not Bearer.'],
    [{ authorization: `bearer  ${KEY}` }, 'The scheme is ApiKey, not Bearer.'],
    [{ authorization: `Basic ${btoa(`${KEY}:`)}` }, 'The scheme is ApiKey, not Basic.'],
    [{ authorization: `Token ${KEY}` }, 'The scheme is ApiKey, not Token.'],
    [{ authorization: `ApiKey:${KEY}` }, 'ApiKey and a space stand in front of the key.'],
    [{ authorization: KEY }, 'ApiKey and a space stand in front of the key.'],
    [{ 'x-api-key': KEY }, 'A key in the header X-API-Key is not read.'],
    [{ 'api-key': KEY }, 'A key in the header Api-Key is not read.'],
  ])('D33: the message says how a key in another form is sent: %o', async (headers, hint) => {
    expect(await messageFor(headers)).toBe(`The request needs a valid key in the header Authorization: ApiKey <key>. ${hint}`)
  })

  test('D33: what it says follows from the form alone, not from whether there is such a key', async () => {
    const unknown = KEY.toUpperCase()
    for (const form of [(key: string) => `Bearer ${key}`, (key: string) => key, (key: string) => `ApiKey${key}`])
      expect(await messageFor({ authorization: form(KEY) })).toBe(await messageFor({ authorization: form(unknown) }))
    expect(await messageFor({ 'x-api-key': KEY })).toBe(await messageFor({ 'x-api-key': unknown }))
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

describe('5 Keys of the database', () => {
  const statusOf = async ({ headers }: { headers: Record<string, string> }, method = 'GET') =>
    (await server.send(method, '/Companies', method === 'POST' ? { Name: 'Kept' } : undefined, headers)).status

  test('D34: a key is accepted once the worker has received it, and 401 from the moment it is gone', async () => {
    const [one, two] = [makeKey(), makeKey()]
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 401])
    await server.replaceKeys([one.record])
    expect([await statusOf(one), await statusOf(two)]).toEqual([200, 401])
    await server.replaceKeys([two.record])
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200])
    await server.replaceKeys([])
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 401])
  })

  test('D34: a key is accepted as soon as the database has it, and charged to itself', async () => {
    const limited = await startServer({ environment: { RATE_LIMITS: '9/1h', RATE_LIMITS_ANONYMOUS: '2/1h' } })
    const store = new KeyStore(limited.databaseUrl)
    const [known, unknown, late] = [makeKey(), makeKey(), makeKey()]
    const remaining = async ({ headers }: TestKey) => {
      const answer = await limited.get('/Companies', headers)
      return [answer.status, answer.headers.get('x-ratelimit-remaining')]
    }
    await store.create(known.record)
    // The look for an unknown key is charged to the address, whether the key is found or not.
    expect([await remaining(known), await remaining(known)]).toEqual([
      [200, '8'],
      [200, '7'],
    ])
    expect([await remaining(unknown), await remaining(unknown)]).toEqual([
      [401, '0'],
      [429, '0'],
    ])
    // An address over its limit may try no more keys; those that are known go on.
    await store.create(late.record)
    expect([await remaining(late), await remaining(known)]).toEqual([
      [429, '0'],
      [200, '6'],
    ])
    await Promise.all([store.end(), limited.stop()])
  })

  test('D34: a key that was made while requests with it were refused is accepted at once', async () => {
    const [key, store] = [makeKey(), new KeyStore(server.databaseUrl)]
    expect(await statusOf(key)).toBe(401)
    await store.create(key.record)
    expect(await statusOf(key)).toBe(200)
    await store.end()
  })

  test('D34: a key is 503 while the server cannot confirm it; what needs no confirmation goes on', async () => {
    const stale = await startServer()
    const [key, store] = [makeKey(), new KeyStore(stale.databaseUrl)]
    await store.create(key.record)
    expect((await stale.get('/Companies', key.headers)).status).toBe(200)
    await stale.sql`alter table api_key_version rename to gone`
    await until(async () => (await stale.get('/Companies', key.headers)).status === 503)
    for (const [method, path] of [
      ['GET', '/Companies'],
      ['GET', '/Nowhere'],
      ['POST', '/Companies'],
      ['DELETE', '/Companies/1'],
    ] as const) {
      const answer = await stale.send(method, path, undefined, key.headers)
      expect(errorOf(answer)).toEqual({ status: 503, code: 'ServiceUnavailable', target: 'Api' })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    for (const path of ['/', '/livez', '/readyz', '/errors/NotFound'])
      expect([path, (await stale.get(path, key.headers)).status]).toEqual([path, 200])
    expect((await stale.get('/Companies')).status).toBe(200) // with the key of the settings
    expect((await stale.get('/Companies', { authorization: '' })).status).toBe(401)
    await stale.sql`alter table gone rename to api_key_version`
    await until(async () => (await stale.get('/Companies', key.headers)).status === 200)
    await Promise.all([store.end(), stale.stop()])
  })

  test('D33: a key that is gone is refused as one that never was', async () => {
    const gone = makeKey()
    await server.replaceKeys([gone.record])
    expect(await statusOf(gone)).toBe(200)
    await server.replaceKeys([])
    const answers = [await server.get('/Companies', gone.headers), await server.get('/Companies', makeKey().headers)]
    expect(answers[0]?.text).toBe(answers[1]?.text as string)
    expect(answers.map((answer) => answer.headers.get('www-authenticate'))).toEqual(['ApiKey', 'ApiKey'])
  })

  test('D34: changed rights hold at once', async () => {
    const key = makeKey({ rights: 'Companies:read' })
    const statuses = async () => [await statusOf(key), await statusOf(key, 'POST')]
    await server.replaceKeys([key.record])
    expect(await statuses()).toEqual([200, 403])
    await server.replaceKeys([{ ...key.record, rights: 'Companies:write' }])
    expect(await statuses()).toEqual([403, 201])
    await server.replaceKeys([{ ...key.record, rights: '' }])
    expect(await statuses()).toEqual([403, 403])
  })

  test('D34: the key of the settings stays, whichever keys the worker receives', async () => {
    await server.replaceKeys([makeKey().record])
    expect((await server.get('/Companies')).status).toBe(200)
  })

  test('D33: the scheme word in any case, and more spaces, with such a key too', async () => {
    const key = makeKey()
    await server.replaceKeys([key.record])
    for (const authorization of [`apikey ${key.text}`, `APIKEY    ${key.text}`])
      expect(await statusOf({ headers: { authorization } })).toBe(200)
    for (const authorization of [key.text, `ApiKey ${key.text.toLowerCase()}`, `ApiKey ${key.record.hash}`])
      expect(await statusOf({ headers: { authorization } })).toBe(401)
  })

  test('D33: of two headers neither counts', async () => {
    const key = makeKey()
    await server.replaceKeys([key.record])
    for (const authorization of [key.headers.authorization, 'ApiKey x']) {
      const { status } = await sendRaw(server, 'GET /Companies', { authorization })
      expect(status).toBe(401)
    }
    expect((await sendRaw(server, 'GET /Companies', { Authorization: key.headers.authorization })).status).toBe(200)
  })

  test.each(['', '{', '[]', '{"Enabled": 5}'])('D33: without a key a body is not looked at: "%s"', async (body) => {
    const answer = await server.send('POST', '/Companies', body, { authorization: '' })
    expect(errorOf(answer)).toEqual(REFUSED)
  })
})
