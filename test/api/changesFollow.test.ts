import { afterEach, expect, test } from 'bun:test'
import { followTexts } from '../../src/operations/changeFeed.ts'
import { outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import { type Json, KEY, makeKey } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const reader = makeKey({ name: 'reader', rights: 'Companies:read,Companies:write' })
const few = makeKey({ name: 'few', limits: '2/1h' })
const blind = makeKey({ name: 'blind', rights: '*:write' })
const crowd = makeKey({ name: 'crowd' })
const crowds = Array.from({ length: 8 }, (_, index) => makeKey({ name: `crowd ${index}` }))
const keys = [reader, few, blind, crowd, ...crowds].map(({ record }) => record)
const ADMIN = { authorization: `ApiKey ${KEY}` }

const server = useServer({ keys, environment: { RATE_LIMIT_CLIENTS: '17' } })

const leaving = new Set<AbortController>()
afterEach(() => {
  for (const one of leaving) one.abort()
  leaving.clear()
})

/** Lines of a stream as they come. */
async function follow(query: string, headers: Record<string, string> = ADMIN) {
  const leave = new AbortController()
  leaving.add(leave)
  const lines: Json[] = []
  const accept = { Accept: 'application/x-ndjson', ...headers }
  const response = await fetch(`${server.url}/Changes${query}`, { headers: accept, signal: leave.signal })
  let isEnded = false
  const reading = (async () => {
    let text = ''
    for await (const piece of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
      const whole = (text + piece).split('\n')
      text = whole.pop() as string
      lines.push(...whole.map((line) => JSON.parse(line)))
    }
    isEnded = true
  })().catch(() => undefined)
  return { response, lines, reading, isEnded: () => isEnded, leave: () => leave.abort() }
}
const company = async (name: string): Promise<number> => (await server.post('/Companies', { Name: name })).body.id

test('a stream of changes begins with a token, and sends each event once it is committed, in the form that pages have', async () => {
  const { response, lines } = await follow('?after=now')
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  await until(() => lines.length === 1)
  expect(lines).toEqual([{ next: expect.any(String) }])
  const id = await company('One')
  await until(() => lines.length === 2)
  await server.patch(`/Companies/${id}`, { Name: 'Two' })
  await until(() => lines.length === 3)
  expect(lines.slice(1)).toEqual((await server.get(`/Companies/${id}/Changes`)).body.changes)
  const page = (await server.get(`/Changes?after=${lines[0].next}`)).body
  expect(page.changes).toEqual(lines.slice(1))
})

test('a client that reconnects to a stream of changes with its last token gets the next event', async () => {
  const first = await follow('?after=now&entity=Companies')
  await until(() => first.lines.length === 1)
  const ids = [await company('A')]
  await until(() => first.lines.length === 2)
  first.leave()
  ids.push(await company('B'), await company('C'))
  const second = await follow(`?after=${first.lines[1].token}&entity=Companies`)
  ids.push(await company('D'))
  await until(() => second.lines.filter(({ id }) => id).length === 3)
  const lines = [...first.lines, ...second.lines].filter(({ token }) => token !== undefined)
  expect(lines.map(({ id }) => id)).toEqual(ids)
})

test('a stream of changes ends with Unauthorized if its key is revoked, and with Forbidden if the key loses its right', async () => {
  const [one, other] = [await follow('?after=now', reader.headers), await follow('?after=now', crowd.headers)]
  await until(() => one.lines.length === 1 && other.lines.length === 1)
  await server.replaceKeys(keys.filter(({ id }) => id !== reader.record.id))
  await one.reading
  expect(one.lines.at(-1).Error.Code).toBe('Unauthorized')
  await server.replaceKeys(keys.map((key) => (key.id === crowd.record.id ? { ...key, rights: '*:write' } : key)))
  await other.reading
  expect(other.lines.at(-1).Error.Code).toBe('Forbidden')
  await server.replaceKeys(keys)
})

test('a stream of changes is charged one request per 1,000 events, rounded up', async () => {
  const after = (await server.get('/Changes?after=now')).body.next
  await server.sql`
    insert into entity_change (position, entity, id, action, key, changed)
    select change_position(), 'company', n, 'u', 'k', '{}' from generate_series(1, 2001) as n`
  await until(async () => (await server.get(`/Changes?after=${after}&PageSize=500`)).body.changes.length === 500)
  const { lines, reading } = await follow(`?after=${after}`, few.headers)
  await reading
  expect(lines.map(({ id }) => id).slice(0, -1)).toEqual(Array.from({ length: 2_000 }, (_, index) => index + 1))
  expect(lines.at(-1).Error.Code).toBe('RateLimitExceeded')
})

test('a key may have 8 streams of changes; the ninth is 503 until one of their clients disconnects', async () => {
  const streams = await Promise.all(Array.from({ length: 8 }, () => follow('?after=now', crowd.headers)))
  expect(streams.map(({ response }) => response.status)).toEqual(Array(8).fill(200))
  const refused = await follow('?after=now', crowd.headers)
  await refused.reading
  expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([503, '5'])
  streams[0]?.leave()
  await until(async () => (await follow('?after=now', crowd.headers)).response.status === 200)
})

test('if other keys have taken all slots, a key without a stream of changes gets a slot, and a stream of another key ends', async () => {
  const all = crowds.flatMap(({ headers }) => Array.from({ length: 8 }, () => follow('?after=now', headers)))
  const streams = await Promise.all(all)
  expect(new Set(streams.map(({ response }) => response.status))).toEqual(new Set([200]))
  expect((await follow('?after=now', crowd.headers)).response.status).toBe(200)
  await until(() => streams.some(({ isEnded }) => isEnded()))
  const ended = streams.filter(({ isEnded }) => isEnded())
  expect(ended.map(({ lines }) => lines.at(-1).Error.Code)).toEqual(['ServiceUnavailable'])
})

test('a stream of changes refuses the parameters of pages, and faults before its first event are normal responses', async () => {
  for (const [query, outcome, headers = {}] of [
    ['?wait=3', '400 InvalidWait wait'],
    ['?PageSize=3', '400 InvalidPageSize PageSize'],
    ['?after=x', '400 InvalidToken after'],
    ['?after=ZmZmZmZmZmZmZmZmLjEuMQ', '410 TokenExpired after'],
    ['', '403 Forbidden Api', blind.headers],
  ] as const)
    expect(outcomeOf(await server.get(`/Changes${query}`, { Accept: 'application/x-ndjson', ...headers }))).toBe(outcome)
  const head = await server.send('HEAD', '/Changes', undefined, { Accept: 'application/x-ndjson' })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
})

test('a gzipped stream of changes sends each event immediately', async () => {
  const { response, lines } = await follow('?after=now', { ...ADMIN, 'Accept-Encoding': 'gzip' })
  expect(response.headers.get('content-encoding')).toBe('gzip')
  await until(() => lines.length === 1)
  await company('Packed')
  await until(() => lines.length === 2)
})

test('a stream of changes without events sends a new token at each heartbeat', async () => {
  const end = { run: 'ffffffffffff', position: '1', number: '0' }
  let reads = 0
  const texts = followTexts(
    { events: [], more: false, end },
    {
      readAfter: async () => ({ events: [], more: false, end: { ...end, position: String(++reads + 1) } }),
      wait: async (_, untilMs) => {
        await Bun.sleep(Math.max(0, untilMs - performance.now()))
        return false
      },
      recheckKey: async () => undefined,
      showToken: (token) => token,
      isOver: () => reads === 3,
      heartbeatMs: 5,
    },
  )
  const said = await Array.fromAsync(texts)
  expect(said.length).toBe(4)
  expect(new Set(said).size).toBe(4)
})

test('a stream of changes that reads 100 pages without events sends a heartbeat only when its interval is over', async () => {
  const end = { run: 'ffffffffffff', position: '1', number: '0' }
  let reads = 0
  const texts = followTexts(
    { events: [], more: false, end },
    {
      readAfter: async () => ({ events: [], more: false, end: { ...end, position: String(++reads + 1) } }),
      wait: async () => true,
      recheckKey: async () => undefined,
      showToken: (token) => token,
      isOver: () => reads === 100,
      heartbeatMs: 3_600_000,
    },
  )
  expect(await Array.fromAsync(texts)).toHaveLength(1)
})

test('a stream of changes ends without an error when the server stops', async () => {
  const own = await startServer()
  const response = await fetch(`${own.url}/Changes?after=now`, {
    headers: { Accept: 'application/x-ndjson', ...ADMIN },
  })
  const text = response.text()
  await own.stop(300)
  expect(await text).toMatch(/^\{"next":"[^"]+"\}\n$/)
})
