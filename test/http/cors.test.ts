import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { quietLog } from '../support/quietLog.ts'
import { errorOf, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const PAGE = 'https://app.example.com'
const SECOND = 'http://localhost:5173'
const FOREIGN = 'https://elsewhere.example'
const SOURCE = join(import.meta.dir, '../../src')

const names = (text: string | null) => (text ?? '').toLowerCase().split(', ').sort()
/** What answers have for pages of other origins. */
const corsOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
/** As a browser asks before it sends a request with a key: without it. */
const preflight = (server: TestServer, path: string, origin = PAGE, method = 'GET') =>
  server.send('OPTIONS', path, undefined, {
    origin,
    authorization: '',
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization',
  })

/** The answer to a preflight for which the address has no requests left. */
async function overLimit() {
  for (;;) {
    const answer = await preflight(listed, '/Companies')
    if (answer.status !== 204) return answer
  }
}

const failures: string[] = []
const log = quietLog({ error: (message) => void failures.push(message) })
const environment = { CORS_ORIGINS: `${PAGE},${SECOND}`, RATE_LIMITS_ANONYMOUS: '20/1h' }
const closed = useServer()
const listed = useServer(() => ({ databaseUrl: closed.databaseUrl, log, environment }))
const open = useServer(() => ({ databaseUrl: closed.databaseUrl, environment: { CORS_ORIGINS: '*' } }))

describe('without CORS_ORIGINS', () => {
  test('no response has a CORS header', async () => {
    const origin = PAGE
    for (const headers of [{ origin }, { origin, authorization: '' }])
      expect(corsOf(await closed.get('/Companies', headers))).toEqual({})
  })

  test('a preflight is answered like any other OPTIONS', async () => {
    const answer = await preflight(closed, '/Companies')
    expect(corsOf(answer)).toEqual({})
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'])
    expect(errorOf(await preflight(closed, '/Nowhere')).status).toBe(401)
  })
})

describe('CORS_ORIGINS with a list', () => {
  test('a response names the origin of its request if the list has it, and no other origin', async () => {
    for (const origin of [PAGE, SECOND])
      expect(corsOf(await listed.get('/Companies', { origin }))).toMatchObject({
        ...{ 'access-control-allow-origin': origin, vary: 'Origin' },
      })
    for (const origin of [FOREIGN, 'null', `${PAGE}:8080`, `${PAGE}.evil.example`, 'https://APP.example.com', ''])
      expect(corsOf(await listed.get('/Companies', { origin }))).toEqual({ vary: 'Origin' })
    // So that no cache gives it to a page.
    expect(corsOf(await listed.get('/Companies'))).toEqual({ vary: 'Origin' })
  })

  test('pages can read refusals and failures', async () => {
    await listed.sql`
      create function fail() returns trigger language plpgsql as $$
        begin raise exception 'x' using errcode = case new.name when 'full' then '53100' else '22012' end; end $$`
    await listed.sql`create trigger fail before insert on company for each row execute function fail()`
    const send = (method: string, path: string, body?: unknown, headers = {}) =>
      listed.send(method, path, body, { origin: PAGE, ...headers })
    const answers = [
      await send('GET', '/Companies?Nmae=x'),
      await send('GET', '/Companies', undefined, { authorization: 'ApiKey wrong' }),
      await send('GET', '/Nowhere'),
      await send('PUT', '/Companies'),
      await send('POST', '/Companies', 'x', { 'content-type': 'text/plain' }),
      await send('GET', `/Companies?Name=${'x'.repeat(4_000)}`),
      await send('POST', '/Companies', { Name: 'failure' }),
      await send('POST', '/Companies', { Name: 'full' }),
    ]
    await listed.sql`drop trigger fail on company`
    expect(answers.map(({ status }) => status)).toEqual([400, 401, 404, 405, 415, 414, 500, 503])
    for (const answer of answers) expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(failures).toEqual(['a request failed'])
  })

  test('pages of other origins can read the public pages and the probes', async () => {
    for (const path of ['/', '/livez', '/readyz', '/errors/NotFound']) {
      const answer = await listed.get(path, { origin: PAGE })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, PAGE])
      expect(names(answer.headers.get('vary'))).toContain('origin')
    }
  })

  test('D35: a preflight is charged as a request without a key, whatever its origin, and a page can read a 429', async () => {
    const { status, headers } = await preflight(listed, '/Companies', FOREIGN)
    expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([204, null, 'Origin'])
    const remaining = async () => Number((await preflight(listed, '/Companies')).headers.get('x-ratelimit-remaining') as string)
    const first = await remaining()
    expect(await remaining()).toBe(first - 1)
    expect((await overLimit()).headers.get('access-control-allow-origin')).toBe(PAGE)
    const answer = await listed.get('/Companies', { origin: PAGE, authorization: '' })
    expect(errorOf(answer)).toMatchObject({ status: 429, code: 'RateLimitExceeded' })
    expect(corsOf(answer)).toMatchObject({ 'access-control-allow-origin': PAGE })
    expect((await listed.get('/Companies', { origin: PAGE })).status).toBe(200)
  })
})

describe('CORS_ORIGINS=*', () => {
  test('any page may read responses, and they do not vary by origin', async () => {
    for (const headers of [{ origin: PAGE }, { origin: 'null' }, {}])
      expect(corsOf(await open.get('/Companies', headers))).toEqual({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': expect.any(String),
      })
  })
})

describe('a preflight', () => {
  test('gets 204 without a key at any path, and allows every method and header, but no cookies', async () => {
    for (const [path, method] of [
      ['/Companies', 'POST'],
      ['/absences/1', 'DELETE'],
      ['/Companies', 'DELETE'],
      ['/Nowhere', 'GET'],
      [`/Companies?Name=${'x'.repeat(4_000)}`, 'GET'],
    ] as const) {
      const { status, text, headers } = await preflight(open, path, PAGE, method)
      expect([status, text]).toEqual([204, ''])
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.has('access-control-allow-credentials')).toBe(false)
      expect(names(headers.get('access-control-allow-methods'))).toContain(method.toLowerCase())
      expect(Number(headers.get('access-control-max-age'))).toBeGreaterThan(3_600)
    }
  })

  test('is an OPTIONS with Origin and Access-Control-Request-Method; any other OPTIONS gets the methods in Allow', async () => {
    for (const headers of [{ origin: PAGE }, { 'access-control-request-method': 'GET' }]) {
      const answer = await open.send('OPTIONS', '/Companies', undefined, { authorization: '', ...headers })
      expect([answer.headers.get('allow'), answer.headers.get('access-control-allow-methods')]).toEqual([
        'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
        null,
      ])
    }
  })

  test('allows all headers that the server reads, except headers that no page can set, and headers of proxies', async () => {
    const notOfPages = ['host', 'origin', 'content-length', 'transfer-encoding', 'access-control-request-method']
    const read = new Set<string>()
    const server = [...new Bun.Glob('**/*.ts').scanSync(SOURCE)].filter((path) => !/^(?:client|cli|pages\/explore)\//.test(path))
    for (const path of server)
      for (const [, name = ''] of readFileSync(join(SOURCE, path), 'utf8').matchAll(
        /\b(?:headers|request)\.(?:get|has)\('([\w-]+)'\)/g,
      ))
        read.add(name)
    expect(read.size).toBeGreaterThan(8)
    // Accept, without which no request is, needs no leave. Fetch standard, CORS-safelisted request-header.
    const needless = ['x-forwarded-for', 'accept', 'accept-language', 'accept-encoding']
    for (const name of [...notOfPages, ...needless]) read.delete(name)
    // Browsers alone set these. Fetch standard, forbidden request-header.
    for (const name of read) if (name.startsWith('sec-')) read.delete(name)
    const allowed = names((await preflight(open, '/Companies')).headers.get('access-control-allow-headers'))
    expect([...read].filter((name) => !allowed.includes(name))).toEqual([])
  })
})

test('all response headers are exposed, except those that browsers always show or always hide', async () => {
  const created = await open.post('/Companies', { Name: 'Acme' })
  const answers = [
    ...[created, await open.get('/Companies?PageSize=5&page=2'), await open.send('PUT', '/Companies')],
    ...[await open.get('/Companies', { authorization: '' }), await open.get('/errors/NotFound')],
    await overLimit(),
  ]
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 405, 401, 200, 429])
  // Fetch standard, CORS-safelisted response-header name; what follows is for browsers, proxies and the connection.
  const shown = ['cache-control', 'content-type', 'content-length', 'last-modified', 'expires']
  const kept = ['connection', 'content-security-policy', 'date', 'x-content-type-options', 'vary']
  const exposed = names(created.headers.get('access-control-expose-headers'))
  const others = new Set(answers.flatMap(({ headers }) => [...headers.keys()]))
  for (const name of [...shown, ...kept]) others.delete(name)
  const unseen = [...others].filter((name) => !name.startsWith('access-control-') && !exposed.includes(name))
  expect(unseen).toEqual([])
  for (const name of ['x-total-count', 'location', 'link', 'retryafter', 'retry-after', 'x-ratelimit-remaining'])
    expect([...others]).toContain(name)
})
