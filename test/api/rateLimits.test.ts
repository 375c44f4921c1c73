import { beforeAll, describe, expect, test } from 'bun:test'
import type { Log } from '../../src/log.ts'
import { quietLog } from '../support/quietLog.ts'
import { type Answer, errorOf, makeKey, type TestKey, type TestServer } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'
import { titleOf } from '../support/titles.ts'

const warnings: string[] = []
const warn: Log['warn'] = (message, fields) => void warnings.push(`${message}: ${fields?.error}`)
const log = quietLog({ warn })

const environment = {
  RATE_LIMITS: '3/1h,100/12h',
  RATE_LIMITS_ANONYMOUS: '3/2h,100/6h',
  RATE_LIMIT_CLIENTS: '256',
  TRUSTED_PROXIES: '127.0.0.0/8',
}

/** The key with limits of its own arranges rows. */
const arranging = makeKey({ limits: '1000/1h' })
let known: TestKey[] = [arranging]
const server = useServer({ environment, keys: [arranging.record], log })
let row: string
beforeAll(async () => {
  row = `/Companies/${(await server.send('POST', '/Companies', { Name: 'Acme' }, arranging.headers)).body.id}`
})

/** An unused key; the ones before stay. */
async function newKey(record: Parameters<typeof makeKey>[0] = {}): Promise<TestKey> {
  const key = makeKey(record)
  known.push(key)
  await server.replaceKeys(known.map(({ record: own }) => own))
  return key
}

let addresses = 0
/** An address from which no request has come yet, without a key. */
const newAddress = () => ({ authorization: '', 'x-forwarded-for': `198.51.100.${++addresses}` })
const newClients = async (): Promise<[string, Record<string, string>][]> => [
  ['a key', (await newKey()).headers],
  ['an address', newAddress()],
]

type Headers = Readonly<Record<string, string>>
const ask = (method: string, path: string, headers: Headers, body?: unknown) => server.send(method, path, body, headers)

async function exhaust(headers: Headers): Promise<void> {
  expect(await statusesOf(3, headers)).toEqual([200, 200, 200])
}

/** The statuses of so many requests one after the other. */
async function statusesOf(count: number, headers: Headers, path = '/'): Promise<number[]> {
  const statuses: number[] = []
  while (statuses.length < count) statuses.push((await ask('GET', path, headers)).status)
  return statuses
}

const left = ({ headers }: Answer) => Number(headers.get('x-ratelimit-remaining'))
/** Behind this one, which is charged itself. */
const leftOf = async (headers: Headers) => left(await ask('GET', '/', headers))

describe('7 Errors, rule 1: a request beyond the limit', () => {
  test('D37: is 429 with the body of the spec, and names the limit that was hit and the seconds to wait', async () => {
    for (const [who, headers] of await newClients()) {
      const period = who === 'a key' ? '1h' : '2h'
      const periodMs = who === 'a key' ? 3_600_000 : 7_200_000
      // In the middle of a second of the wait, so that rounding down shows.
      const beforeMs = Date.now()
      await exhaust(headers)
      await Bun.sleep(500)
      const askedMs = Date.now()
      const answer = await ask('GET', '/Companies', headers)
      const answeredMs = Date.now()
      const seconds = answer.headers.get('retryafter') as string
      expect(answer.status).toBe(429)
      expect(answer.body).toEqual({
        Error: {
          Code: 'RateLimitExceeded',
          Reference: `${server.url}/errors/RateLimitExceeded`,
          Target: 'Api',
          Message: `The limit of 3 per ${period} is reached; retry after ${seconds} s.`,
          Details: null,
        },
      })
      expect(seconds).toMatch(/^[1-9]\d*$/)
      expect(answer.headers.get('retry-after')).toBe(seconds)
      const waitedMs = Date.now() - beforeMs
      expect(Number(seconds)).toBeGreaterThanOrEqual(Math.ceil((periodMs - waitedMs) / 1_000))
      expect(Number(seconds)).toBeLessThanOrEqual(periodMs / 1_000)
      expect([answer.headers.get('x-ratelimit-limit'), left(answer)]).toEqual([period, 0])
      const reset = Date.parse(answer.headers.get('x-ratelimit-reset') as string)
      expect(reset).toBeGreaterThanOrEqual(beforeMs + periodMs)
      // Reset is a moment and RetryAfter a duration from the decision, each rounded up to a second.
      expect(reset - 1_000 * Number(seconds)).toBeWithin(askedMs - 1_000, answeredMs + 1_002)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
  })

  test('D36: is charged to no rule', async () => {
    for (const [, headers] of await newClients()) {
      await exhaust(headers)
      expect(await statusesOf(20, headers)).toEqual(Array(20).fill(429))
    }
    // The short window passes, and the long one shows what was charged.
    const passing = await newKey({ limits: '2/1s,50/1h' })
    // All at once, so that a busy machine does not take seconds for them.
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask('GET', '/', passing.headers)))
    const admitted = answers.filter(({ status }) => status === 200).length
    expect(admitted).toBeLessThan(30)
    await Bun.sleep(1_050)
    expect(left(await ask('GET', '/', passing.headers))).toBe(50 - admitted - 1)
  })

  test('D36: is refused by the rule with the longest wait', async () => {
    const { headers } = await newKey({ limits: '2/1h,2/3h,2/1m' })
    expect(await statusesOf(3, headers)).toEqual([200, 200, 429])
    expect((await ask('GET', '/', headers)).headers.get('x-ratelimit-limit')).toBe('3h')
  })

  const item = 'the row'
  const limited = [
    ...['GET /', 'GET /Companies', 'GET /Companies?Id=x', 'GET /Companies/999999', 'GET /Nowhere', 'HEAD /Companies'],
    ...['OPTIONS /Companies', 'OPTIONS /Nowhere', 'GET /errors/RateLimitExceeded', `GET /${'x'.repeat(9_000)}`],
    ...['DELETE /Companies', 'POST /', 'POST /Companies', `PUT ${item}`, `PATCH ${item}`, `DELETE ${item}`],
  ].map((line) => [titleOf(line), line] as const)
  test.each(limited)('D35: is 429, with a key and without, and writes nothing: %s', async (_, line) => {
    const [method = '', path = ''] = line.replace(item, row).split(' ')
    const contents = async () => [...(await server.sql`select * from company order by id`)]
    const before = await contents()
    for (const [, headers] of await newClients()) {
      await exhaust(headers)
      const answer = await ask(method, path, headers, method.startsWith('P') ? { Name: 'Refused' } : undefined)
      expect([answer.status, answer.headers.get('retryafter') !== null]).toEqual([429, true])
      if (method !== 'HEAD') expect(errorOf(answer).code).toBe('RateLimitExceeded')
    }
    expect(await contents()).toEqual(before)
    expect(before).toHaveLength(1)
  })

  test.each(['GET /livez', 'GET /readyz', 'HEAD /livez', 'GET /LIVEZ/'])('D35: is 200 nevertheless for %s', async (line) => {
    const [method = '', path = ''] = line.split(' ')
    for (const [, headers] of await newClients()) {
      await exhaust(headers)
      for (let request = 0; request < 3; request++) expect((await ask(method, path, headers)).status).toBe(200)
      expect((await ask('GET', '/', headers)).status).toBe(429)
    }
  })

  test('is 429 exactly beyond the limit when 200 requests come at the same time', async () => {
    const { headers } = await newKey({ limits: '40/1h' })
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask('GET', '/', headers)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(40)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(160)
  })
})

test('D37: a client that waits RetryAfter seconds is admitted, a second earlier it is not', async () => {
  const brief = await startServer({
    environment: { RATE_LIMITS: '1/3s', RATE_LIMITS_ANONYMOUS: '1/3s', RATE_LIMIT_CLIENTS: '4' },
  })
  const wait = async (headers: Headers) => {
    const firstMs = performance.now()
    expect((await brief.get('/', headers)).status).toBe(200)
    await Bun.sleep(400)
    const refused = await brief.get('/', headers)
    const refusedMs = performance.now()
    const seconds = Number(refused.headers.get('retryafter'))
    const least = Math.ceil((firstMs + 3_000 - performance.now()) / 1_000)
    expect([refused.status, Math.max(least, Math.min(seconds, 3))]).toEqual([429, seconds])
    await Bun.sleep(seconds * 1_000 - 1_000 - (performance.now() - refusedMs))
    const early = await brief.get('/', headers)
    // On a slow machine the wait may already be over.
    if (performance.now() - firstMs < 3_000) expect([early.status, early.headers.get('retryafter')]).toEqual([429, '1'])
    await Bun.sleep(seconds * 1_000 - (performance.now() - refusedMs))
    expect((await brief.get('/', headers)).status).toBe(200)
  }
  await Promise.all([wait({}), wait({ authorization: '' })])
})

describe('D35: the client to charge', () => {
  test('is the key of the request; neither other keys nor its address are charged', async () => {
    const address = newAddress()
    const [one, two] = [await newKey(), await newKey()]
    await exhaust({ ...address, ...one.headers })
    expect((await ask('GET', '/Companies', one.headers)).status).toBe(429)
    expect((await ask('GET', '/Companies', { ...address, ...two.headers })).status).toBe(200)
    expect(await leftOf(address)).toBe(99)
  })

  test.each([
    ['a missing key', () => ''],
    ['the scheme alone', () => 'ApiKey'],
    ['another scheme', () => `Bearer ${makeKey().text}`],
    ['an unknown key', () => makeKey().headers.authorization],
    ['a key with a wrong secret', () => `ApiKey ${known[0]?.text.slice(0, -3)}xxx`],
    ['a revoked key', () => revoked()],
    ['a very long key', () => `ApiKey ${'k'.repeat(3_000)}`],
  ])('is the address for %s: 401, and 429 once the requests of the address are used up', async (_, authorizationOf) => {
    const address = { ...newAddress(), authorization: await authorizationOf() }
    expect(await statusesOf(4, address, '/Companies')).toEqual([401, 401, 401, 429])
    expect(await leftOf({ ...address, authorization: '' })).toBe(0)
  })

  test('is the address for a guessed key, which is 429 without WWW-Authenticate once the address is over its limit', async () => {
    const address = newAddress()
    await exhaust(address)
    const guess = await ask('GET', '/Companies', { ...address, ...makeKey().headers })
    expect(errorOf(guess)).toEqual({ status: 429, code: 'RateLimitExceeded', target: 'Api' })
    expect(guess.headers.has('www-authenticate')).toBe(false)
  })

  async function revoked(): Promise<string> {
    const key = await newKey()
    known = known.filter((own) => own !== key)
    await server.replaceKeys(known.map(({ record }) => record))
    return key.headers.authorization
  }
})

describe('a key’s own limits', () => {
  /** Status, period and remaining requests of a request. */
  const said = async ({ headers: own }: TestKey) => {
    const { status, headers } = await ask('GET', '/Companies', own)
    return `${status} ${headers.get('x-ratelimit-limit')} ${headers.get('x-ratelimit-remaining')}`
  }

  test('replace the limits of the server, whether they are lower or higher', async () => {
    const few = await newKey({ limits: '1/5m' })
    const many = await newKey({ limits: '5/5m' })
    expect([await said(few), await said(few)]).toEqual(['200 5m 0', '429 5m 0'])
    expect((await ask('GET', '/Companies', few.headers)).body.Error.Message).toStartWith('The limit of 1 per 5m is reached')
    for (const remaining of [4, 3, 2, 1, 0]) expect(await said(many)).toBe(`200 5m ${remaining}`)
    expect(await said(many)).toBe('429 5m 0')
  })

  test.each([[null], ['3/1h,100/12h']])('are shared by two keys of one name, as after a rotation: limits %p', async (limits) => {
    const [old, current] = [await newKey({ name: `old ${limits}`, limits }), await newKey({ name: `old ${limits}`, limits })]
    expect([await said(old), await said(current), await said(old)]).toEqual(['200 12h 99', '200 12h 98', '200 12h 97'])
    for (const key of [current, old]) expect((await ask('GET', '/Companies', key.headers)).status).toBe(429)
  })

  test('are ignored if they are malformed: the limits of the server apply, and the log has a warning', async () => {
    expect(await said(await newKey({ limits: '5/1y' }))).toBe('200 12h 99')
    expect(warnings).toContain('the limits of a key cannot be used: "5/1y" is not a limit like 750/1m')
  })

  test('apply from the moment when they are set, changed or removed', async () => {
    const key = await newKey()
    expect(await said(key)).toBe('200 12h 99')
    for (const [limits, expected] of [
      ['9/5m', '200 5m 8'],
      ['7/10m', '200 10m 6'],
      [null, '200 12h 98'],
    ] as const) {
      known = known.filter((own) => own.text !== key.text)
      await server.replaceKeys([...known.map(({ record }) => record), { ...key.record, limits }])
      expect(await said(key)).toBe(expected)
    }
  })
})

describe('D35: the headers X-Forwarded-For of trusted proxies', () => {
  const environmentOf = (TRUSTED_PROXIES: string) => ({
    environment: { RATE_LIMITS_ANONYMOUS: '1000/1h', RATE_LIMIT_CLIENTS: '4', TRUSTED_PROXIES },
  })
  const proxied = useServer(environmentOf('127.0.0.0/8,10.0.0.0/8,2001:db8:a::/48'))
  const direct = useServer(environmentOf('10.0.0.0/8'))

  const leftAt = async (one: TestServer, forwardedFor: string | null) => {
    const headers: Record<string, string> = { authorization: '' }
    if (forwardedFor !== null) headers['x-forwarded-for'] = forwardedFor
    return left(await one.get('/', headers))
  }
  const isSame = async (one: TestServer, first: string | null, second: string | null) => {
    const before = await leftAt(one, first)
    return (await leftAt(one, second)) === before - 1
  }

  test.each([
    ['the client, and the client after an entry that it made up', '203.0.113.1', '192.0.2.66, 203.0.113.1'],
    ['the client, and the client behind a proxy that it made up', '203.0.113.2', '10.0.0.1, 203.0.113.2'],
    ['the client, and the client behind a chain of proxies', '203.0.113.3', '192.0.2.66, 203.0.113.3, 10.0.0.1, 10.0.0.2'],
    ['an address, and the same with a port', '203.0.113.4', '203.0.113.4:4711'],
    ['an address, and the same with brackets and a port', '2001:db8:2::1', '[2001:db8:2::1]:80, 2001:db8:a::9'],
    ['two addresses of one /64', '2001:db8:3:4::1', '2001:DB8:3:4:ffff:ffff:ffff:ffff'],
    ['an IPv4 address, and the same mapped to IPv6', '203.0.113.5', '::ffff:203.0.113.5'],
    ['garbage and the proxy itself', null, 'garbage'],
    ['an empty hop and the proxy itself', null, '203.0.113.8,'],
    ['a very long text and the proxy itself', null, 'x'.repeat(7_000)],
    ['a very long chain, whose head is not read', '10.0.0.9', `203.0.113.9, ${'10.0.0.9,'.repeat(900)}10.0.0.9`],
  ])('count as the same client: %s', async (_, one, other) => expect(await isSame(proxied, one, other)).toBe(true))

  test.each([
    ['two addresses', '203.0.113.11', '203.0.113.12'],
    ['two addresses that made up the same', '203.0.113.1, 203.0.113.13', '203.0.113.1, 203.0.113.14'],
    ['two networks /64', '2001:db8:7:1::1', '2001:db8:7:2::1'],
    ['the client, and the address that it made up', '192.0.2.77, 203.0.113.15', '192.0.2.77'],
    ['the client and its proxy', '203.0.113.16', null],
    ['a client behind garbage', '203.0.113.17', '203.0.113.17, garbage'],
  ])('count as different clients: %s', async (_, one, other) => {
    // Without these requests, two clients whose windows are equally full would look like one.
    await leftAt(proxied, one)
    await leftAt(proxied, one)
    expect(await isSame(proxied, one, other)).toBe(false)
  })

  test('are ignored from a peer that is not trusted, which is charged by its own address', async () => {
    const before = await leftAt(direct, null)
    for (const [index, forwarded] of ['203.0.113.1', '10.0.0.1', '203.0.113.1, 10.0.0.1', '::1', 'x'].entries())
      expect(await leftAt(direct, forwarded)).toBe(before - 1 - index)
  })
})
