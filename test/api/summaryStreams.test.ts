import { afterEach, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import absence from '../../src/entities/absence.ts'
import { readSamples } from '../../src/metrics/counts.ts'
import { AGGREGATES } from '../../src/model/names.ts'
import { takesAggregate } from '../../src/parse/summary.ts'
import { until } from '../support/process.ts'
import { makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

/** As many groups, with as many figures as there may be, take some 42 MB; all streams of a process may hold 128. */
const ROWS = 200_000
const AGGREGATED = AGGREGATES.map((aggregate) => {
  const names = absence.properties.filter((property) => takesAggregate(property, aggregate)).map(({ name }) => name)
  return `${aggregate}=${names.slice(0, 8).join(',')}`
}).join('&')
const LARGE = `/Absences/Summary?groupBy=Id,Period.Days&${AGGREGATED}`
const SMALL = '/Absences/Summary?groupBy=Type'

const [one, other, third, last] = [makeKey(), makeKey(), makeKey(), makeKey()]
const server = useServer({ keys: [one, other, third, last].map(({ record }) => record) })
beforeAll(async () => {
  await server.sql`insert into absence (type, period_days) select 'a' || n % 7, n % 50 from generate_series(1, ${ROWS}::int) as n`
  const inMemory = () => readSamples().summaries?.find(({ labels }) => labels.from === 'memory')?.values[0] ?? 0
  await until(async () => {
    const before = inMemory()
    await server.get(`/Absences/Summary?Id=>0&${AGGREGATED}&page=${Math.ceil(1e6 * Math.random())}`)
    return inMemory() > before
  })
})

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

interface Answered {
  readonly status: number
  /** As far as the client has read. */
  readonly text: string
  readonly leave: () => void
}

/** Asks for a stream, and stops to read at its first bytes. */
async function sip({ headers }: TestKey, target: string): Promise<Answered> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/csv\r\nAuthorization: ${headers.authorization}\r\n\r\n`,
  )
  const text = await new Promise<string>((resolve, reject) => {
    socket.once('data', (bytes) => {
      socket.pause()
      resolve(bytes.toString())
    })
    socket.once('error', reject)
    socket.once('end', () => reject(new Error('the connection was closed')))
  })
  return { status: Number(text.split(' ')[1]), text, leave: () => socket.destroy() }
}

const statusesOf = async (streams: readonly (readonly [TestKey, string])[]) => {
  const statuses: number[] = []
  for (const [key, target] of streams) statuses.push((await sip(key, target)).status)
  return statuses
}

test('a key has at most two streams of summaries at a time, and streams of lists in addition', async () => {
  expect(
    await statusesOf([
      [one, LARGE],
      [one, LARGE],
    ]),
  ).toEqual([200, 200])
  const refused = await sip(one, SMALL)
  expect([refused.status, refused.text]).toEqual([
    503,
    expect.stringContaining('You have 2 streams of summaries under way here, which is the most for one key or person.'),
  ])
  expect((await sip(one, '/Absences')).status).toBe(200)
})

test('a stream of a summary is 503 while other streams of summaries use all memory for groups', async () => {
  const held = await sip(one, LARGE)
  expect([
    held.status,
    ...(await statusesOf([
      [one, LARGE],
      [other, LARGE],
    ])),
  ]).toEqual([200, 200, 200])
  const refused = await sip(other, LARGE)
  expect(refused.status).toBe(503)
  expect(refused.text).toMatch(/\r\nRetry-After: 5\r\n/i)
  expect(refused.text).toContain(
    'The groups of this stream do not fit into memory beside those of other streams of summaries. Retry after the seconds in Retry-After, or ask for pages, for fewer groups or for fewer aggregates.',
  )
  // Pages need no memory for groups, and a small stream fits.
  expect((await server.get(LARGE)).status).toBe(200)
  expect((await sip(third, SMALL)).status).toBe(200)
  held.leave()
  await until(async () => (await sip(other, LARGE)).status === 200)
})
