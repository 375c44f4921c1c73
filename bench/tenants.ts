// Measures what one server per tenant costs, with all servers on one machine and one PostgreSQL: `npm run bench:tenants`.
import { Command } from 'commander'
import postgres from 'postgres'
import { startPgBouncer } from '../test/support/pgbouncer.ts'
import { Ending, status, stopChildren } from './children.ts'
import { cpuUsBetween, pssMb, readCpu } from './cpu.ts'
import { rowsFor } from './data.ts'
import { type Cluster, DATA_DIR, openCluster } from './database.ts'
import { faultOf, mergeLoads, percentileMs, runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import { numberIn, readCommand } from './options.ts'
import { figureText } from './report/summary.ts'
import { type HttpTarget, startServer } from './server.ts'

const command = new Command('bench:tenants')
  .description('Measures memory, connections and processors of idle servers, and pools of connections under load.')
  .option('--servers <n>', 'in the end; they are started one after another', numberIn(1, 60, true), 50)
  .option('--loaded <n>', 'servers under load, for each pool', numberIn(1, 20, true), 10)
  .option('--rows <n>', 'absences of each tenant', numberIn(100, 100_000, true), 2_000)
  .option('--seconds <n>', 'of each measurement', numberIn(1, 60), 5)
  .option('--data <folder>', 'of PostgreSQL, kept for the next run', DATA_DIR)
const options = readCommand(command, process.argv.slice(2)) as {
  readonly servers: number
  readonly loaded: number
  readonly rows: number
  readonly seconds: number
  readonly data: string
}

/** Numbers of running servers at which idle servers are measured. */
const STEPS = [1, 2, 5, 10, 20, 30, 40, 50, 60]
/** Time in ms after its first list in which a server becomes idle. */
const SETTLE_MS = 5_000
const CONNECTIONS_OF_LOAD = 8
const SETTINGS = { WORKERS: '1', RATE_LIMIT_CLIENTS: '50' }
/** Value of DATABASE_POOL as in docs/scaling.md. */
const SMALL_POOL = '4'
const CELL_WIDTH = 17
const NAME_WIDTH = 34

/** Limits of a server's connections to PostgreSQL. */
interface Pool {
  readonly name: string
  readonly size: string
  /** Number of connections of PgBouncer to each database; null if servers connect to PostgreSQL without PgBouncer. */
  readonly pooled: number | null
}

const POOLS: readonly Pool[] = [
  { name: 'DATABASE_POOL=10', size: '10', pooled: null },
  { name: 'DATABASE_POOL=4', size: SMALL_POOL, pooled: null },
  { name: 'DATABASE_POOL=2', size: '2', pooled: null },
  { name: 'DATABASE_POOL=4, PgBouncer with 2', size: SMALL_POOL, pooled: 2 },
]

/** Reads by id and creates, half of each. */
const OPERATIONS: readonly Operation[] = [
  { method: 'GET', path: `/Absences/{1..${options.rows}}`, status: 200 },
  { method: 'POST', path: '/Companies', body: '{"Name":"tenant {1..1000000}"}', status: 201 },
]

const ending = new Ending()
try {
  await run()
} catch (error) {
  if (!ending.isInterrupted) console.error(error)
  process.exitCode = 1
}
await ending.finish()

async function run() {
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const rows = rowsFor(options.rows)
  const { url } = await cluster.database(rows)
  const admin = Object.assign(new URL(url), { pathname: '/postgres' }).href
  const sql = postgres(admin, { max: 1, onnotice: () => undefined })
  ending.add(() => sql.end())
  const urls: string[] = []
  for (let number = 1; number <= Math.max(options.servers, options.loaded); number++) {
    status(`database ${number}`)
    urls.push(await cluster.copy(rows, `bench_tenant_${number}`))
  }
  status(null)
  await measureIdle(cluster, sql, urls.slice(0, options.servers))
  await measurePools(sql, urls.slice(0, options.loaded))
  for (const own of urls) await sql.unsafe(`drop database ${new URL(own).pathname.slice(1)} with (force)`)
}

async function measureIdle(cluster: Cluster, sql: postgres.Sql, urls: readonly string[]) {
  console.log(`Idle servers of ${options.rows} absences, which are in memory; WORKERS=1, DATABASE_POOL=${SMALL_POOL}`)
  const heads = ['s to start', 'MB each', 'MB PostgreSQL', 'connections', 'CPU % each', 'CPU % PostgreSQL']
  console.log(lineOf('servers', heads))
  const servers: HttpTarget[] = []
  for (const url of urls) {
    status(`server ${servers.length + 1}`)
    const startMs = performance.now()
    const server = await start(url, { DATABASE_POOL: SMALL_POOL })
    const startSeconds = (performance.now() - startMs) / 1_000
    servers.push(server)
    await askForList(server)
    if (!STEPS.includes(servers.length) && servers.length < urls.length) continue
    await Bun.sleep(SETTLE_MS)
    const pids = servers.flatMap((one) => one.pids)
    const before = [readCpu(pids), readCpu([cluster.postmasterPid])] as const
    await Bun.sleep(options.seconds * 1_000)
    const cpuOf = (at: 0 | 1, roots: readonly number[]) =>
      ((cpuUsBetween(before[at], readCpu(roots)) ?? Number.NaN) / (options.seconds * 1e6)) * 100
    const figures = [
      startSeconds,
      (pssMb(pids) ?? Number.NaN) / servers.length,
      pssMb([cluster.postmasterPid]),
      await connectionsOf(sql),
      cpuOf(0, pids) / servers.length,
      cpuOf(1, [cluster.postmasterPid]),
    ]
    status(null)
    console.log(lineOf(String(servers.length), figures.map(figureText)))
  }
  await Promise.all(servers.map((server) => server.stop()))
}

async function measurePools(sql: postgres.Sql, urls: readonly string[]) {
  const load = `${CONNECTIONS_OF_LOAD} connections of load each, rows by id and creates`
  console.log(`\n${urls.length} servers at once, ${load}`)
  console.log(lineOf('pool', ['requests/s', 'p99 ms', 'connections']))
  for (const pool of POOLS) {
    status(pool.name)
    const pooler = pool.pooled === null ? null : await startPgBouncer(urls[0] as string, pool.pooled)
    const servers: HttpTarget[] = []
    for (const url of urls) servers.push(await start(url, { DATABASE_POOL: pool.size, ...pooledSettings(url, pooler?.url) }))
    await Promise.all(servers.map(askForList))
    const counting = Bun.sleep(options.seconds * 500).then(() => connectionsOf(sql))
    const loads = await Promise.all(servers.map((server, seed) => loadOf(server, seed)))
    const all = mergeLoads(loads)
    const fault = faultOf(all)
    if (fault !== null) throw new Error(`${pool.name}: ${fault}`)
    const figures = [all.requests / all.seconds, percentileMs(all.buckets, 99), await counting]
    status(null)
    console.log(lineOf(pool.name, figures.map(figureText)))
    await Promise.all(servers.map((server) => server.stop()))
    await pooler?.stop()
  }
}

async function start(url: string, settings: Readonly<Record<string, string>>): Promise<HttpTarget> {
  const server = await startServer('roster', { url, rows: rowsFor(options.rows) }, { settings: { ...SETTINGS, ...settings } })
  ending.add(server.stop)
  return server
}

/** Returns the settings of a server that uses a pooler, with the direct address of its database. */
function pooledSettings(url: string, pooler: string | undefined): Record<string, string> {
  if (pooler === undefined) return {}
  const pooled = Object.assign(new URL(pooler), { pathname: new URL(url).pathname }).href
  return { DATABASE_URL: pooled, DATABASE_DIRECT_URL: url, DATABASE_PREPARE: 'false' }
}

/** Requests a list of each collection, as the first reader of a tenant does. */
async function askForList({ urls: [url], headers }: HttpTarget) {
  for (const path of ['/Companies', '/Employees', '/Absences']) {
    const { status: code } = await fetch(`${url}${path}?sort=-Id`, { headers })
    if (code !== 200) throw new Error(`GET ${path} is ${code}`)
  }
}

function loadOf({ urls: [url], headers }: HttpTarget, seed: number) {
  return runLoad({
    url: url as string,
    headers,
    operations: OPERATIONS,
    connections: CONNECTIONS_OF_LOAD,
    seed,
    seconds: options.seconds,
    loadingSeconds: 0,
    leadInSeconds: 1,
  })
}

/** Returns the number of connections to all databases of tenants. */
async function connectionsOf(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname like 'bench_tenant_%'`
  return row?.count ?? 0
}

function lineOf(name: string, cells: readonly string[]): string {
  return name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(CELL_WIDTH)).join('')
}
