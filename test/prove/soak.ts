import { workersOf } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { Cluster } from './lists/cluster.ts'
import { SoakClient } from './soak/client.ts'
import { disturb, soakFaults } from './soak/faults.ts'
import { KEPT, type OwnRow, shapes, versionIn } from './soak/rows.ts'
import { Tally } from './soak/tally.ts'
import { Watch } from './soak/watch.ts'

interface Options {
  readonly seed: number
  readonly seconds: number
  /** Seconds between faults. */
  readonly pauseSeconds?: number
  /** Names of the faults to cause; default: all, in turns. */
  readonly faults?: readonly string[]
}

interface Soaked {
  /** Differences, one per line. */
  readonly differences: readonly string[]
  readonly requests: number
  /** Number of responses by method and status, with status 0 for a lost connection. It also has other counts. */
  readonly counts: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Number of rows that were checked at the end, directly in the tables. */
  readonly rows: number
  readonly held: Record<string, unknown>
}

const CLIENTS = 12
const WORKERS = 3
const PAUSE_SECONDS = 8
const SAMPLE_MS = 500
const STALLED_MS = 2_000
/** Part of the time without faults, at the beginning. */
const CALM_PART = 1 / 6

/** Writes and reads while processes are killed and frozen, and connections cut. Checks each response against earlier writes. */
export async function proveSoak(options: Options): Promise<Soaked> {
  const cluster = await Cluster.open({ cached: { WORKERS: String(WORKERS) }, isAlone: true })
  try {
    return await soak(cluster, options)
  } finally {
    await cluster.close()
  }
}

async function soak(cluster: Cluster, options: Options): Promise<Soaked> {
  const { seed, seconds, pauseSeconds = PAUSE_SECONDS, faults = Object.keys(soakFaults) } = options
  await cluster.untilAnswered()
  const { url } = cluster
  const [veteran = 0] = workersOf(cluster.pid)
  const [tally, watch, random] = [new Tally(), new Watch(cluster, veteran), new Random(seed)]
  const endMs = performance.now() + seconds * 1_000
  const isOver = () => performance.now() >= endMs
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    return new SoakClient(`c${index}`, { url, repeats: index % 2 === 0 }, new Random(seed + index + 1), tally)
  })
  let lookedMs = performance.now()
  const timer = setInterval(() => {
    // If the machine itself stood still, late responses are not the server's fault.
    if (performance.now() - lookedMs > STALLED_MS) tally.excuse('the machine stood still')
    lookedMs = performance.now()
    watch.look()
  }, SAMPLE_MS)
  const work = Promise.all([
    ...clients.map((client) => client.run(isOver)),
    ...[1, 2].map((number) => disturb(url, new Random(seed - number), isOver, (what) => tally.count(what))),
  ])
  // A failure is thrown below, by `await work`.
  work.catch(() => undefined)
  await Bun.sleep(seconds * 1_000 * CALM_PART)
  for (let turn = 0; performance.now() + 2_000 < endMs; turn++) {
    const name = faults[turn % faults.length] as string
    await tally.during(name, () => (soakFaults[name] as (typeof soakFaults)[string])({ cluster, random, veteran }))
    await Bun.sleep(Math.min(pauseSeconds * 1_000, Math.max(0, endMs - performance.now())))
  }
  await work
  clearInterval(timer)
  await cluster.untilAnswered()
  await cluster.untilQuiet()
  const rows = [...tally.settled, ...clients.flatMap((client) => [...client.rows, ...client.retired])]
  for (const row of rows) tally.judge(await faultInTable(cluster, row))
  tally.judge(await strangersIn(cluster, rows))
  const { report, grown } = watch.judge()
  for (const one of [...grown, ...(await watch.leaksAtRest())]) tally.judge(one)
  if (!workersOf(cluster.pid).includes(veteran)) tally.judge('the oldest worker has ended')
  const { requests, counts, faults: done, differences } = tally
  return { differences, requests, counts, faults: done, rows: rows.length, held: report }
}

/** Checks a row directly in the table: it must exist at most once, in a possible state. */
async function faultInTable({ sql }: Cluster, { collection, marker, states }: OwnRow): Promise<string | null> {
  const { table, columns } = shapes[collection]
  const found = await sql.unsafe(`select ${columns.version} as version from ${table} where ${columns.marker} = $1`, [marker])
  if (found.length > 1) return `${marker} is there ${found.length} times`
  const version = found.length === 0 ? null : versionIn(found[0]?.version)
  return states.includes(version) ? null : `${marker} is ${version} in the end, and may be ${states.join(' or ')}`
}

/** Returns a row that no client has written; null if there is none. */
async function strangersIn({ sql }: Cluster, rows: readonly OwnRow[]): Promise<string | null> {
  const known = new Set(rows.map(({ marker }) => marker))
  for (const collection of KEPT) {
    const { table, columns } = shapes[collection]
    const found = await sql.unsafe(`select ${columns.marker} as marker from ${table}`)
    const stranger = found.find(({ marker }) => !known.has(marker))
    if (stranger) return `${collection} has ${stranger.marker}, which was refused`
  }
  return null
}
