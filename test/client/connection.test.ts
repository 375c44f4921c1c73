import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { migrate } from '../../src/postgres/migrate.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { MIGRATIONS } from '../support/postgres.ts'
import { freePort } from '../support/process.ts'
import { KEY, makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { failureOf } from './failureOf.ts'
import { createRoster, RosterError } from './roster.ts'

const postgres = useOwnPostgres()
const brisk = makeKey({ limits: '2/1s' })
const slow = makeKey({ limits: '1/1m' })
const server = useServer(async () => {
  await migrate(postgres.url, MIGRATIONS)
  const keys = [brisk.record, slow.record]
  return { databaseUrl: postgres.url, environment: { RATE_LIMIT_CLIENTS: '3' }, keys }
})

/** Statuses of all responses in order; `lost` for a lost connection. */
const answers: (number | 'lost')[] = []
afterEach(() => {
  answers.length = 0
})

type Options = Parameters<typeof createRoster>[0]
type Fetch = NonNullable<Options['fetch']>

const noted: Fetch = async (url, init) => {
  try {
    const response = await fetch(url, init)
    answers.push(response.status)
    return response
  } catch (error) {
    answers.push('lost')
    throw error
  }
}
const client = (options: Partial<Options> = {}) => createRoster({ url: server.url, key: KEY, fetch: noted, ...options })
describe('a reached rate limit', () => {
  test('after a 429 the client waits as long as the server says, and repeats the request, in every method', async () => {
    const { companies } = client({ key: brisk.text })
    const made = await Promise.all(['One', 'Two', 'Three'].map((name) => companies.create({ name })))
    const [one, two, three] = made.map(({ id }) => id) as [number, number, number]
    await Promise.all([companies.update(one, { enabled: true }), companies.delete(two), companies.delete(three)])
    await companies.delete(one)
    expect(answers.filter((status) => status !== 429).sort()).toEqual([200, 201, 201, 201, 204, 204, 204])
    expect(answers).toContain(429)
    expect((await client().companies.list()).total).toBe(0)
  })

  test('a call fails with 429 if the wait would be longer than its caller allows', async () => {
    const { companies } = client({ key: slow.text, waitMsMax: 1_000 })
    await companies.list()
    const error = await failureOf(companies.list())
    expect(error).toMatchObject({ status: 429, code: 'RateLimitExceeded', target: 'Api' })
    expect(error.retryAfterMs).toBeGreaterThan(1_000)
    expect(answers).toEqual([200, 429])
  })

  test('an abort ends the wait for the rate limit', async () => {
    const { companies } = client({ key: slow.text })
    const ending = new AbortController()
    const aborted = failureOf(companies.list({ signal: ending.signal }))
    while (!answers.includes(429)) await Bun.sleep(5)
    ending.abort(new Error('enough'))
    expect((await aborted).message).toBe('enough')
    const all = companies.all({ signal: AbortSignal.abort(new Error('at once')) })
    expect((await failureOf(all.next())).message).toBe('at once')
  })
})

describe('an unreachable database', () => {
  test('the client repeats requests that get 503 until the database is back', async () => {
    const { companies } = client()
    const { id } = await companies.create({ name: 'Before' })
    const gone = await companies.create({ name: 'Gone' })
    await postgres.goAway()
    // Backends outlive the postmaster for a moment.
    while ((await server.get(`/companies/${id}`)).status !== 503) await Bun.sleep(5)
    const once = client({ triesMax: 1 }).companies
    const refused = await failureOf(once.create({ name: 'Never' }))
    expect(refused).toMatchObject({ status: 503, code: 'ServiceUnavailable' })
    expect(refused.retryAfterMs).toBeGreaterThan(0)
    expect(answers.slice(2)).toEqual([503])
    expect((await failureOf(once.get(id))).status).toBe(503)
    const created = companies.create({ name: 'Once' })
    const calls = [
      companies.get(id),
      companies.update(id, { enabled: true }),
      companies.replace(id, { name: 'After', enabled: true }),
    ]
    const deleted = companies.delete(gone.id)
    const missing = failureOf(companies.delete(999_999))
    while (answers.filter((status) => status === 503).length < 7) await Bun.sleep(5)
    await postgres.comeBack()
    for (const row of await Promise.all(calls)) expect(row.id).toBe(id)
    expect(await deleted).toBeUndefined()
    expect((await missing).code).toBe('NotFound')
    const { id: createdId } = await created
    expect(await companies.list()).toMatchObject({ total: 2 })
    await companies.delete(id)
    await companies.delete(createdId)
  })
})

describe('an unreachable server', () => {
  const url = `http://127.0.0.1:${freePort()}`

  test('the client retries reads and creates after a lost connection, and no other writes', async () => {
    const { companies } = client({ url, triesMax: 3 })
    const error = await failureOf(companies.get(1))
    expect(error).toBeInstanceOf(RosterError)
    expect(error).toMatchObject({ status: 0, code: 'NetworkFailure', requestId: null, retryAfterMs: null })
    expect(error.message).toStartWith(`GET ${url}/Companies/1 had no answer: `)
    expect(error.cause).toBeInstanceOf(Error)
    expect(answers).toEqual(['lost', 'lost', 'lost'])
    const { create, update, replace, delete: remove } = companies
    for (const call of [() => create({}), () => update(1, {}), () => replace(1, {}), () => remove(1)])
      expect((await failureOf(call())).code).toBe('NetworkFailure')
    expect(answers.length).toBe(9)
  })

  test('the client waits for an unreachable server no longer than its caller allows', async () => {
    await failureOf(client({ url, triesMax: 100, waitMsMax: 300 }).companies.get(1))
    expect(answers).toEqual(['lost', 'lost'])
  })

  test('an error of the network shows no filter, which may contain people’s data', async () => {
    const { employees } = client({ url, triesMax: 1 })
    expect((await failureOf(employees.list({ filter: { lastName: 'Lovelace' } }))).message).not.toContain('Lovelace')
  })
})

describe('a server that does not answer', () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  afterAll(() => silent.stop(true))
  const url = `http://127.0.0.1:${silent.port}`

  test('a request that times out is not repeated', async () => {
    const error = await failureOf(client({ url, timeoutMs: 30 }).companies.get(1))
    expect(error).toMatchObject({
      status: 0,
      code: 'Timeout',
      message: `GET ${url}/Companies/1 had no answer within 30 ms`,
    })
    expect(answers).toEqual(['lost'])
  })

  test('an infinite timeout does not end the request immediately', async () => {
    const ending = new AbortController()
    const call = failureOf(client({ url, timeoutMs: Number.POSITIVE_INFINITY }).companies.get(1, { signal: ending.signal }))
    await Bun.sleep(50)
    expect(answers).toEqual([])
    ending.abort()
    expect((await call).name).toBe('AbortError')
  })
})

describe('answers that a client cannot use', () => {
  let asked4 = 0
  const unknown = () => {
    asked4++
    return Response.json({ Error: { Code: 'OutcomeUnknown', Message: '' } }, { status: 503 })
  }
  const received: string[] = []
  const other = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      received.push(request.headers.get('authorization') ?? 'no key')
      return new Response('[]')
    },
  })
  const proxy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      if (url.includes('Companies/1')) return Response.redirect(other.url.href, 302)
      if (url.includes('Companies/2')) return new Response('<h1>Bad gateway</h1>', { status: 502 })
      if (url.includes('Companies/3')) return new Response('<h1>Welcome</h1>')
      if (url.includes('Companies/4')) return unknown()
      return Response.json([])
    },
  })
  afterAll(() => Promise.all([other.stop(true), proxy.stop(true)]))
  const { companies } = createRoster({ url: proxy.url.href, key: KEY })

  test('an answer that is not Roster’s fails as UnexpectedAnswer, with its status', async () => {
    expect(await failureOf(companies.get(2))).toMatchObject({ status: 502, code: 'UnexpectedAnswer' })
    expect(await failureOf(companies.get(3))).toMatchObject({ status: 200, code: 'UnexpectedAnswer' })
    expect((await failureOf(companies.list())).message).toContain('without rows or X-Total-Count')
  })

  test('a request that gets OutcomeUnknown is repeated if it is a read or has ifMatch, and otherwise not', async () => {
    const { get, update, replace, delete: remove } = createRoster({ url: proxy.url.href, key: KEY, triesMax: 2 }).companies
    // A repeated write could undo what another client has written in between.
    for (const call of [() => update(4, {}), () => replace(4, {}), () => remove(4)])
      expect((await failureOf(call())).code).toBe('OutcomeUnknown')
    expect(asked4).toBe(3)
    await failureOf(get(4))
    await failureOf(update(4, {}, { ifMatch: '"1"' }))
    expect(asked4).toBe(7)
  })

  test('a redirect is not followed, so that the key is not sent to another server', async () => {
    expect(await failureOf(companies.get(1))).toMatchObject({ status: 302, code: 'UnexpectedAnswer' })
    expect(received).toEqual([])
  })
})

describe('invalid options of a client', () => {
  test('an invalid address is refused', () => {
    const addresses = ['', 'roster.example.com', 'ftp://roster.example.com', 'https://a:b@roster.example.com', 'https://h/?x']
    for (const url of [...addresses, 'https://h/#x']) expect(() => createRoster({ url, key: KEY })).toThrow(TypeError)
  })

  test('an invalid key is refused, and the error does not show it', () => {
    for (const key of ['', ' ', 'ké-y', 'a b', 'a\r\nX: y'])
      expect(() => createRoster({ url: 'http://h', key })).toThrow('the key is empty, or has characters that no key has')
  })

  test('the address of a client may have a path, to which the paths of resources are added', async () => {
    const { companies } = client({ url: `${server.url}/behind//`, triesMax: 1 })
    expect((await failureOf(companies.get(1))).message).toContain('There is nothing at this path')
    expect(answers).toEqual([404])
  })
})
