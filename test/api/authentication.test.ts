import { describe, expect, test } from 'bun:test'
import { KeyStore } from '../../src/keys/store.ts'
import { ask, expectAll, outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { sendRaw } from '../support/raw.ts'
import { KEY, makeKey, type TestKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const server = useServer()

const REFUSED = '401 Unauthorized Api'

describe('5 Authentication', () => {
  test.each([`ApiKey ${KEY}`, `apikey ${KEY}`, `APIKEY ${KEY}`, `ApiKey    ${KEY}`, `apikey  ${KEY}`])(
    'rule 1, D33: the word ApiKey is accepted in upper or lower case, with one space or more: "%s"',
    (authorization) => expectAll(server, '200', [['GET /Companies', undefined, { authorization }]]),
  )

  const IS_NEEDED = 'The request needs a valid key in the header Authorization: ApiKey <key>.'
  const refusalOf = async (headers: Record<string, string>) => {
    const answer = await server.get('/Companies', { authorization: '', ...headers })
    expect([outcomeOf(answer), answer.headers.get('www-authenticate')]).toEqual([REFUSED, 'ApiKey'])
    expect(answer.text).not.toContain(KEY)
    return answer
  }

  test('D33: a missing, a malformed and an unknown key are 401, all with WWW-Authenticate: ApiKey and the same body', async () => {
    const { text } = await refusalOf({})
    for (const authorization of [
      ...['ApiKey', 'ApiKey ', `ApiKeyX ${KEY}`, `ApiKey ${KEY} ${KEY}`, `ApiKey "${KEY}"`],
      ...['ApiKey unknown-key-0123456789', `ApiKey ${KEY.toUpperCase()}`, `ApiKey ${KEY.slice(0, -1)}`, `ApiKey ${KEY}0`],
      `ApiKey ${'k'.repeat(4_000)}`,
    ])
      expect([authorization, (await refusalOf({ authorization })).text]).toEqual([authorization, text])
  })

  const [SCHEME, IN_FRONT] = ['The scheme is ApiKey, not ', 'ApiKey and a space stand in front of the key.']
  test.each([
    ...['Bearer', 'Basic', 'Token'].map((scheme) => ['authorization', `${scheme} KEY`, `${SCHEME}${scheme}.`] as const),
    ['authorization', 'bearer  KEY', `${SCHEME}Bearer.`],
    ...['KEY', 'ApiKey:KEY', 'ApiKeyKEY', 'ApiKey\tKEY'].map((form) => ['authorization', form, IN_FRONT] as const),
    ['x-api-key', 'KEY', 'A key in the header X-API-Key is not read.'],
    ['api-key', 'KEY', 'A key in the header Api-Key is not read.'],
  ] as const)(
    'D33: a key that is sent as "%s: %s" is 401, and the message says how to send it, whether the key exists or not',
    async (name, form, hint) => {
      for (const key of [KEY, KEY.toUpperCase()]) {
        const sent = form.replace(/KEY$/, form.startsWith('Basic') ? btoa(`${key}:`) : key)
        expect((await refusalOf({ [name]: sent })).body.Error.Message).toBe(`${IS_NEEDED} ${hint}`)
      }
    },
  )

  test.each([
    ...[['GET', '/Companies'] as const, ['GET', '/Employees/1'] as const, ['GET', '/Nowhere'] as const],
    ...[['PUT', '/Companies/1'] as const, ['PATCH', '/Companies/1'] as const, ['DELETE', '/Companies/1'] as const],
    ['GET', `/Companies?apikey=${KEY}`],
  ])('D33: %s %s without a valid key in the header is 401, whether the path exists or not', (method, path) =>
    expectAll(server, REFUSED, [[`${method} ${path}`, undefined, { authorization: '' }]]),
  )

  test('D33: the body of a request without a key is not read, and nothing is written', async () => {
    const form = { authorization: '', 'content-type': 'application/x-www-form-urlencoded' }
    const bodies = ['', '{', '[]', '{"Enabled": 5}', { Name: 'Intruder' }, { access_token: KEY, ApiKey: KEY }]
    await expectAll(server, REFUSED, [
      ['POST /Companies', `access_token=${KEY}&ApiKey=${KEY}`, form],
      ...bodies.map((body) => ['POST /Companies', body, { authorization: '' }] as const),
    ])
    expect(await server.sql`select count(*)::int as rows from company`).toEqual([{ rows: 0 }] as never)
  })

  test.each(['/', '/livez', '/readyz', '/errors/NotFound'])('D33: %s is 200 without a key, and with a wrong key', (path) =>
    expectAll(
      server,
      '200',
      ['', 'ApiKey wrong'].map((authorization) => [`GET ${path}`, undefined, { authorization }]),
    ),
  )
})

describe('5 Keys of the database', () => {
  const statusOf = async ({ headers }: { headers: Record<string, string> }, method = 'GET') =>
    (await server.send(method, '/Companies', method === 'POST' ? { Name: 'Kept' } : undefined, headers)).status

  test('D33, D34: a key is accepted once the worker has received it, and is 401 like an unknown key when it is gone', async () => {
    const [one, two] = [makeKey(), makeKey()]
    for (const [keys, statuses] of [
      [[], [401, 401]],
      [[one], [200, 401]],
      [[two], [401, 200]],
      [[], [401, 401]],
    ] as [TestKey[], number[]][]) {
      await server.replaceKeys(keys.map(({ record }) => record))
      // The key of the settings stays, whichever keys the worker receives.
      expect([await statusOf(one), await statusOf(two), (await server.get('/Companies')).status]).toEqual([...statuses, 200])
    }
    const [gone, never] = [await server.get('/Companies', two.headers), await server.get('/Companies', makeKey().headers)]
    expect([gone.text, gone.headers.get('www-authenticate')]).toEqual([never.text, 'ApiKey'])
  })

  test('D34: a key is accepted as soon as the database has it, and its requests are charged to it', async () => {
    const limited = await startServer({ environment: { RATE_LIMITS: '9/1h', RATE_LIMITS_ANONYMOUS: '2/1h' } })
    const store = new KeyStore(limited.sql)
    const [known, unknown, late] = [makeKey(), makeKey(), makeKey()]
    const remaining = async ({ headers }: TestKey) => {
      const answer = await limited.get('/Companies', headers)
      return `${answer.status} ${answer.headers.get('x-ratelimit-remaining')}`
    }
    await store.create(known.record)
    expect([await remaining(known), await remaining(known)]).toEqual(['200 8', '200 7'])
    const outcomes = [await remaining(unknown), await remaining(unknown), await remaining(unknown)]
    expect(outcomes).toEqual(['401 1', '401 0', '429 0'])
    // An address over its limit cannot try new keys; keys that the server knows are still admitted.
    await store.create(late.record)
    expect([await remaining(late), await remaining(known)]).toEqual(['429 0', '200 6'])
  })

  test('D34: the first 64 concurrent requests with a new or a rotated key are all admitted, also behind a proxy', async () => {
    const environment = { RATE_LIMITS_ANONYMOUS: '10/1h', TRUSTED_PROXIES: '127.0.0.0/8' }
    const narrow = await startServer({ environment })
    const store = new KeyStore(narrow.sql)
    const [first, rotated] = [makeKey(), makeKey()]
    const forwarded = { 'x-forwarded-for': '198.51.100.7' }
    const statuses = async ({ headers }: TestKey, path: string) => {
      const answers = await Promise.all(Array.from({ length: 64 }, () => narrow.get(path, { ...headers, ...forwarded })))
      return [...new Set(answers.map(({ status }) => status))]
    }
    await store.create(first.record)
    expect(await statuses(first, '/Companies')).toEqual([200])
    await store.rotate(first.record.name, rotated.record, 0)
    expect(await statuses(rotated, '/')).toEqual([200])
    const anonymous = await narrow.get('/', { authorization: '', ...forwarded })
    expect(anonymous.headers.get('x-ratelimit-remaining')).toBe('9')
  })

  test('D34: a key is accepted as soon as it is created, even while earlier requests with it are refused', async () => {
    const [key, store] = [makeKey(), new KeyStore(server.sql)]
    expect(await statusOf(key)).toBe(401)
    await store.create(key.record)
    expect(await statusOf(key)).toBe(200)
  })

  test('D34: a request is 503 while its key cannot be confirmed, except to public pages and with the key of the settings', async () => {
    const stale = await startServer()
    const [key, store] = [makeKey(), new KeyStore(stale.sql)]
    await store.create(key.record)
    expect((await stale.get('/Companies', key.headers)).status).toBe(200)
    await stale.sql`alter table api_key_version rename to gone`
    await until(async () => (await stale.get('/Companies', key.headers)).status === 503)
    for (const line of ['GET /Companies', 'GET /Nowhere', 'POST /Companies', 'DELETE /Companies/1']) {
      const answer = await ask(stale, [line, undefined, key.headers])
      expect([outcomeOf(answer), answer.headers.get('retry-after')]).toEqual(['503 ServiceUnavailable Api', '1'])
    }
    const open = ['/', '/livez', '/readyz', '/errors/NotFound']
    await expectAll(
      stale,
      '200',
      open.map((path) => [`GET ${path}`, undefined, key.headers]),
    )
    await expectAll(stale, '200', [['GET /Companies']]) // with the key of the settings
    await expectAll(stale, REFUSED, [['GET /Companies', undefined, { authorization: '' }]])
    await stale.sql`alter table gone rename to api_key_version`
    await until(async () => (await stale.get('/Companies', key.headers)).status === 200)
  })

  test('D34: changed rights apply immediately', async () => {
    const key = makeKey({ rights: 'Companies:read' })
    for (const [rights, statuses] of [
      ['Companies:read', [200, 403]],
      ['Companies:write', [403, 201]],
      ['', [403, 403]],
    ] as const) {
      await server.replaceKeys([{ ...key.record, rights }])
      expect([await statusOf(key), await statusOf(key, 'POST')]).toEqual([...statuses])
    }
  })

  test('D33: the word ApiKey may be in upper or lower case, with several spaces; a request with two Authorization headers is 401', async () => {
    const key = makeKey()
    await server.replaceKeys([key.record])
    for (const authorization of [`apikey ${key.text}`, `APIKEY    ${key.text}`])
      expect(await statusOf({ headers: { authorization } })).toBe(200)
    for (const authorization of [key.text, `ApiKey ${key.text.toLowerCase()}`, `ApiKey ${key.record.hash}`])
      expect(await statusOf({ headers: { authorization } })).toBe(401)
    for (const authorization of [key.headers.authorization, 'ApiKey x'])
      expect((await sendRaw(server, 'GET /Companies', { authorization })).status).toBe(401)
    expect((await sendRaw(server, 'GET /Companies', { Authorization: key.headers.authorization })).status).toBe(200)
  })
})
