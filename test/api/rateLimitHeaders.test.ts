import { beforeAll, describe, expect, test } from 'bun:test'
import { quietLog } from '../support/quietLog.ts'
import { sendRaw } from '../support/raw.ts'
import { createRow } from '../support/rows.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startServer, useServer } from '../support/start.ts'

// The longest period is neither first nor last, and its limit is not the largest.
const environment = {
  RATE_LIMITS: '6000/1m,5000/12h,7000/3h',
  RATE_LIMITS_ANONYMOUS: '4000/1m,3000/6h,5000/2h',
  RATE_LIMIT_CLIENTS: '16',
  TRUSTED_PROXIES: '127.0.0.0/8',
}
const HOUR_MS = 3_600_000

interface Seen {
  status: number
  headers: Headers
}

/** One client: a key, or an address without one. */
interface Asker {
  readonly headers: Readonly<Record<string, string>>
  readonly period: string
  readonly limit: number
  readonly policy: string
}

const key: TestKey = makeKey({ name: 'all' })
const reader = makeKey({ rights: 'Companies:read', name: 'reader' })
const slow = makeKey({ name: 'slow' })
const KEYS_POLICY = '"1m";q=6000;w=60, "12h";q=5000;w=43200, "3h";q=7000;w=10800'
const asKey: Asker = { headers: key.headers, period: '12h', limit: 5_000, policy: KEYS_POLICY }
const asReader: Asker = { headers: reader.headers, period: '12h', limit: 5_000, policy: KEYS_POLICY }
const asAddress: Asker = {
  headers: { authorization: '', 'x-forwarded-for': '203.0.113.1' },
  period: '6h',
  limit: 3_000,
  policy: '"1m";q=4000;w=60, "6h";q=3000;w=21600, "2h";q=5000;w=7200',
}

const server = useServer({
  environment,
  keys: [key.record, reader.record, slow.record],
  log: quietLog({ error() {} }),
})
let company: number
let referenced: number
let slowAnswer: Promise<string>
let slowSentMs: number

beforeAll(async () => {
  company = (await createRow(server, '/Companies', { Name: 'Acme' })).id
  referenced = (await createRow(server, '/Companies', { Name: 'Employer' })).id
  await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId: referenced })
  // The name of a row decides which error the database raises for it.
  await server.sql.unsafe(`
    create function fail() returns trigger language plpgsql as $$ begin
      if new.name like 'fail with %' then raise exception 'failed' using errcode = substr(new.name, 11); end if;
      return new;
    end $$;
    create trigger fail before insert on company for each row execute function fail()`)
  // The answer takes ten seconds, in which all other tests of this file run.
  slowSentMs = Date.now()
  const head = { Host: new URL(server.url).host, 'Content-Type': 'application/json', 'Content-Length': '9' }
  const lines = Object.entries({ ...head, Authorization: slow.headers.authorization, Connection: 'close' })
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  slowAnswer = exchange(server.url, `POST /Companies HTTP/1.1\r\n${text}\r\n{`)
})

/** Headers as `Headers`, from the text of a raw answer. */
function headersOf(head: string): Headers {
  const lines = head.split('\r\n').slice(1)
  return new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]))
}

const send =
  (method: string, path: string | (() => string), body?: unknown, headers: Record<string, string> = {}) =>
  (keyId: Asker): Promise<Seen> =>
    server.send(method, typeof path === 'string' ? path : path(), body, { ...keyId.headers, ...headers })

const raw =
  (line: string, headers: Record<string, string>) =>
  async (keyId: Asker): Promise<Seen> => {
    const own = Object.fromEntries(
      Object.entries(keyId.headers).map(([name, value]) => [name === 'authorization' ? 'Authorization' : name, value]),
    )
    const { status, head } = await sendRaw(server, line, { ...own, ...headers })
    return { status, headers: headersOf(head) }
  }

/** How many requests are left behind this one, which is counted itself. */
async function look(keyId: Asker): Promise<number> {
  return Number((await server.get('/', keyId.headers)).headers.get('x-ratelimit-remaining'))
}

const long = `/Companies?Name=${'x'.repeat(9_000)}`
const type = { 'content-type': 'application/json' }
type Case = [string, number, (keyId: Asker) => Promise<Seen>, Asker?]

const counted: Case[] = [
  ['a list', 200, send('GET', '/Companies')],
  ['one entity', 200, send('GET', () => `/Companies/${company}`)],
  ['HEAD of a list', 200, send('HEAD', '/Companies')],
  ['a create', 201, send('POST', '/Companies', { Name: 'New' })],
  ['a complete update', 200, send('PUT', () => `/Companies/${company}`, { Name: 'Acme' })],
  ['a partial update', 200, send('PATCH', () => `/Companies/${company}`, { Name: 'Acme' })],
  ['a delete', 204, send('DELETE', () => `/Companies/${company}`)],
  ['OPTIONS', 204, send('OPTIONS', '/Companies')],
  ['the root', 200, send('GET', '/')],
  ['a page about an error', 200, send('GET', '/errors/NotFound')],
  ['a bad filter', 400, send('GET', '/Companies?Id=x')],
  ['a body that is no JSON', 400, send('POST', '/Companies', '{')],
  ['an invalid Host header', 400, raw('GET /Companies', { Host: 'a b' })],
  ['an unknown path', 404, send('GET', '/Nowhere')],
  ['an unknown id', 404, send('GET', '/Companies/999999')],
  ['a method that a collection lacks', 405, send('PUT', '/Companies')],
  ['a reference to a missing row', 409, send('POST', '/Absences', { EmployeeId: 999_999 })],
  ['the deletion of a row to which others refer', 409, send('DELETE', () => `/Companies/${referenced}`)],
  ['a body that is too large', 413, raw('POST /Companies', { ...type, 'Content-Length': '9000000' })],
  ['a target that is too long', 414, send('GET', long)],
  ['a body of another type', 415, send('POST', '/Companies', 'x', { 'content-type': 'text/plain' })],
  ['a failure of the server', 500, send('POST', '/Companies', { Name: 'fail with 22012' })],
  ['a database with a full disk', 503, send('POST', '/Companies', { Name: 'fail with 53100' })],
  ['a request without the right', 403, send('POST', '/Companies', {}), asReader],
  ['a request without a key', 401, send('GET', '/Companies'), asAddress],
  ['a request with a wrong key', 401, send('GET', '/Companies', undefined, { authorization: 'ApiKey wrong' }), asAddress],
  ['the root without a key', 200, send('GET', '/'), asAddress],
  ['OPTIONS without a key', 204, send('OPTIONS', '/Companies'), asAddress],
  ['a target that is too long, without a key', 414, send('GET', long), asAddress],
]

const notCounted: Case[] = [
  ['/livez', 200, send('GET', '/livez')],
  ['/readyz', 200, send('GET', '/readyz')],
  ['OPTIONS /livez', 204, send('OPTIONS', '/livez')],
  ['POST /livez', 405, send('POST', '/livez', {})],
  ['/livez without a key', 200, send('GET', '/livez'), asAddress],
  ['/readyz without a key', 200, send('GET', '/readyz'), asAddress],
]

describe('8 Rate limit headers', () => {
  test.each(counted)('D37: %s (%d) has rate limit headers, which count this request', async (_, status, ask, keyId = asKey) => {
    const before = await look(keyId)
    const seen = await ask(keyId)
    expect([seen.status, seen.headers.get('x-ratelimit-limit')]).toEqual([status, keyId.period])
    expect(seen.headers.get('x-ratelimit-remaining')).toBe(String(before - 1))
    expect(seen.headers.get('x-ratelimit-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    // draft-ietf-httpapi-ratelimit-headers-10
    const [, period, left, seconds] = /^"(\w+)";r=(\d+);t=(\d+)$/.exec(seen.headers.get('ratelimit') ?? '') ?? []
    expect([period, left]).toEqual([keyId.period, String(before - 1)])
    const resetMs = Date.parse(seen.headers.get('x-ratelimit-reset') as string) - Date.now()
    expect(Math.abs(resetMs / 1_000 - Number(seconds))).toBeLessThan(30)
    expect(seen.headers.get('ratelimit-policy')).toBe(keyId.policy)
    expect(seen.headers.has('retry-after') || seen.headers.has('retryafter')).toBe(status === 503)
    expect(await look(keyId)).toBe(before - 2)
  })

  test.each(notCounted)(
    'D35, D37: the answer to %s is %d without rate limit headers, and the request is not counted',
    async (_, status, ask, keyId = asKey) => {
      const before = await look(keyId)
      const { status: got, headers } = await ask(keyId)
      const sent = [...headers.keys()].filter((name) => name.includes('ratelimit'))
      expect({ status: got, sent }).toEqual({ status, sent: [] })
      expect(await look(keyId)).toBe(before - 1)
    },
  )

  test.each(['/livez', '/readyz'])('D37: %s gives the same answer for a valid key, a wrong key and no key', async (path) => {
    const answers: unknown[] = []
    for (const authorization of ['', key.headers.authorization, 'ApiKey wrong', makeKey().headers.authorization]) {
      const { status, text, headers } = await server.get(path, { authorization })
      answers.push([status, text, ...headers.keys()])
    }
    expect(answers).toEqual(Array(4).fill(answers[0]))
  })

  test('D37: X-RateLimit-Reset is when the first request leaves the longest window, rounded up, and does not move', async () => {
    const clients = [
      [12 * HOUR_MS, (await freshKey()).headers],
      [6 * HOUR_MS, { authorization: '', 'x-forwarded-for': '203.0.113.3' }],
    ] as const
    // In the middle of a second, so that wrong rounding shows and a slow machine does not matter.
    await Bun.sleep((1_400 - (Date.now() % 1_000)) % 1_000)
    const resetOf = async (path: string, own: Record<string, string>) =>
      (await server.get(path, own)).headers.get('x-ratelimit-reset') as string
    const first = async ([ms, own]: (typeof clients)[number]) => {
      const beforeMs = Date.now()
      const reset = await resetOf('/Companies', own)
      expect(Date.parse(reset)).toBeWithin(beforeMs + ms, Math.ceil((Date.now() + ms + 10) / 1_000) * 1_000 + 1)
      return reset
    }
    const resets = await Promise.all(clients.map(first))
    await Bun.sleep(1_000)
    for (const path of ['/Companies', '/'])
      expect(await Promise.all(clients.map(([, own]) => resetOf(path, own)))).toEqual(resets)
  })

  test('D37: responses have the headers while the database is away', async () => {
    const away = await startServer({
      environment,
      databaseUrl: 'postgres://roster:roster@127.0.0.1:1/roster',
    })
    for (const [path, left] of [['/Companies', '4999'] as const, ['/Companies/1', '4998'] as const]) {
      const { status, headers } = await away.get(path)
      const said = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => headers.get(name))
      expect([path, status, ...said]).toEqual([path, 503, '12h', left])
    }
  })

  test('D37: responses have the headers while the server stops', async () => {
    const ending = await startServer({ environment, keys: [key.record] })
    await ending.get('/', key.headers)
    const stopped = ending.stop(300)
    const { status, headers } = await ending.get('/', key.headers)
    const said = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'connection'].map((name) => headers.get(name))
    expect([status, ...said]).toEqual([200, '12h', '4998', 'close'])
    await stopped
  })

  test('D37: a 408 for a slow body has the headers', async () => {
    const answer = await slowAnswer
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const headers = headersOf(head)
    expect(head.split(' ')[1]).toBe('408')
    expect(headers.get('x-ratelimit-limit')).toBe('12h')
    expect(headers.get('x-ratelimit-remaining')).toBe('4999')
    expect(Date.parse(headers.get('x-ratelimit-reset') as string)).toBeGreaterThanOrEqual(slowSentMs + 12 * HOUR_MS)
    expect(JSON.parse(body).Error).toMatchObject({ Code: 'RequestTimeout', Target: 'Body' })
  })
})

/** An unused key. */
async function freshKey(): Promise<TestKey> {
  const fresh = makeKey()
  await server.replaceKeys([key.record, reader.record, slow.record, fresh.record])
  return fresh
}
