import { measureColumns } from './columns.ts'
import { type Cluster, type Database, openCluster } from './database.ts'
import { exhaust, makeExhaustedKey } from './exhaustedKey.ts'
import { startBare, startConstant, startUncounted } from './floors/servers.ts'
import { type SqlFloor, sqlFloor } from './floors/sql.ts'
import type { HttpTarget } from './httpTarget.ts'
import { runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import type { Options } from './options.ts'
import { checkPeers, type Peer, startPeers } from './peers.ts'
import { checkAnswers } from './reference.ts'
import type { ColumnsRound } from './results.ts'
import { isRefusal, readsOf, type Scenario } from './scenarios.ts'
import { type Server, startServer } from './server.ts'
import { silenceOthers } from './silence.ts'
import { seedOf } from './suite.ts'
import { type Asked, overHttp, sqlTarget, type Target } from './targets.ts'

/** All that runs while the suite measures. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  readonly server: Server
  /** The same without the list cache. */
  readonly noCache: Server
  readonly peers: readonly Peer[]
  /** The database of those peers that have more indexes; null: there are none. */
  readonly indexed: Database | null
  /** What absences in columns cost; null: not measured. */
  readonly columns: readonly ColumnsRound[] | null
  readonly sqlFloor: SqlFloor
  /** With a key whose limit is used up. */
  readonly exhausted: Readonly<Record<string, string>>
}

type Load = Pick<Scenario, 'operations' | 'background'>

/** More than both servers, the floors and all peers have open at once. */
const CONNECTIONS_OF_SERVERS = 500
const WARM_UP_SECONDS_MAX = 5
const WARM_UP_ROUNDS = 3

const stayRunning = async () => undefined

/** What has to be stopped, the last one first. */
export type Started = { stop(): Promise<void> }[]

/**
 * Starts PostgreSQL with its rows, the server with the list cache and without, and the peers, and notes each in `started`
 * once it runs.
 * @throws Error when one of them does not come up
 */
export async function startBench(options: Options, scenarios: readonly Scenario[], started: Started): Promise<Bench> {
  const connections = CONNECTIONS_OF_SERVERS + options.connections // pgbench has as many as the load
  const cluster = await openCluster({ dataDir: options.data, settings: { max_connections: String(connections) } })
  started.push(cluster)
  const database = await cluster.database(options.rows)
  const hasIndexed = options.peers.length > 0 && scenarios.some(({ isNew }) => isNew)
  const indexed = hasIndexed ? await cluster.indexedDatabase(options.rows) : null
  // Before the others start: a write of a server tells those that listen beside it, which costs it more than columns do.
  const columns = options.columns ? await columnsOrNull({ cluster, database }, options) : null
  const exhausted = await makeExhaustedKey(database.url)
  const server = await startServer({ databaseUrl: database.url, workers: options.workers })
  started.push(server)
  await exhaust(server.url, exhausted)
  await silenceOthers(database.url)
  const noCache = await startServer({ databaseUrl: database.url, workers: options.workers, listCache: false })
  started.push(noCache)
  const processes = server.workerPids().length || options.workers
  const peers: Peer[] = []
  for (const [on, isIndexed] of [[database, false] as const, [indexed, true] as const])
    if (on && options.peers.length > 0)
      peers.push(...(await startPeers({ databaseUrl: on.url, names: options.peers, processes, isIndexed })))
  started.push(...peers)
  return { cluster, database, server, noCache, peers, indexed, columns, sqlFloor: sqlFloor(), exhausted }
}

/** Null where there are none to be had, with a line that says why: of more rows than fit into memory, for one. */
async function columnsOrNull(place: Pick<Bench, 'cluster' | 'database'>, options: Options) {
  try {
    return await measureColumns(place, options)
  } catch (error) {
    console.log(`VOID: absences in columns: ${(error as Error).message}`)
    return null
  }
}

/** Asks the servers and the peers what they will be asked under load. @throws Error at the first wrong answer */
export async function checkBench(bench: Bench, scenarios: readonly Scenario[]): Promise<void> {
  const { server, database, peers } = bench
  await checkAnswers(ourTargets(bench), database.url, readsOf(scenarios))
  for (const isIndexed of [false, true]) {
    const asked = peers.filter((peer) => peer.isIndexed === isIndexed)
    if (asked.length > 0) await checkPeers(asked, server.url, server.key, readsOf(askedOf(isIndexed, scenarios)))
  }
}

/** What peers can be asked, and those with more indexes are. */
function askedOf(isIndexed: boolean, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(({ isOurs = false, isNew = false }) => !isOurs && (isNew || !isIndexed))
}

/** Code is compiled and connections are made before anything is counted. */
export async function warmUp(bench: Bench, scenarios: readonly Scenario[], options: Options): Promise<void> {
  const all = readsOf(scenarios)
  const seconds = Math.min(WARM_UP_SECONDS_MAX, WARM_UP_ROUNDS * options.seconds)
  const { connections } = options
  const seed = seedOf(options.seed, 'warm-up', 0)
  const warm = async ({ url, headers }: HttpTarget, operations: readonly Operation[]) => {
    if (operations.length > 0) await runLoad({ url, headers, operations, connections, seconds, seed })
  }
  for (const target of ourTargets(bench)) await warm(target, all)
  for (const peer of bench.peers) {
    const operations = readsOf(askedOf(peer.isIndexed, scenarios))
    await warm(
      peerTarget(peer),
      operations.flatMap((operation) => peer.translate(operation) ?? []),
    )
  }
}

/** The server with the list cache and without, the floors of the scenario, and the peers that can do it. */
export async function openTargets(bench: Bench, scenario: Scenario): Promise<Target[]> {
  const operations = [...scenario.operations, ...(scenario.background?.operations ?? [])]
  const on = (target: HttpTarget, asked: Asked) => overHttp(target, asked, bench.cluster.postmasterPid)
  const { prepare: _, ...load } = scenario
  const [roster, noCache] = ourTargets(bench).map((target) => ({
    ...target,
    headers: headersFor(bench, scenario),
  })) as [HttpTarget, HttpTarget]
  const constant = on(await startConstant(roster, operations), load)
  if (isRefusal(scenario)) return [on(roster, scenario), constant]
  const ours = [on(roster, scenario), on(noCache, scenario), constant]
  return scenario.isOurs ? ours : [...ours, ...(await openOthers(bench, scenario, operations))]
}

/** The floors with the SQL of the scenario, and the peers that can do it. */
async function openOthers(bench: Bench, scenario: Scenario, operations: readonly Operation[]): Promise<Target[]> {
  const { cluster, database, sqlFloor } = bench
  const on = (target: HttpTarget, load: Load = scenario) => overHttp(target, load, cluster.postmasterPid)
  const bare = on(await startBare(database.url, operations))
  const uncounted = scenario.hasUncounted ? [on(await startUncounted(database.url, operations))] : []
  const sql = await sqlTarget(sqlFloor, database.url, scenario, cluster.postmasterPid)
  const asked = bench.peers.filter((peer) => askedOf(peer.isIndexed, [scenario]).length > 0)
  const peers = asked.flatMap((peer) => {
    const load = translate(peer, scenario)
    return load ? [on(peerTarget(peer), load)] : []
  })
  return [bare, ...uncounted, sql, ...peers]
}

/** Both servers of ours, as something to load; they go on when their targets stop. */
export function ourTargets({
  server,
  noCache,
}: Pick<Bench, 'server' | 'noCache'>): [roster: HttpTarget, noCache: HttpTarget] {
  return [targetOf('roster', server), targetOf('no-cache', noCache)]
}

/** The server as something to load; it goes on when its target stops. */
export function rosterTarget({ server }: Pick<Bench, 'server'>): HttpTarget {
  return targetOf('roster', server)
}

function targetOf(name: string, { url, headers, pid }: Server): HttpTarget {
  return { name, url, headers, pids: () => [pid], stop: stayRunning }
}

export function peerTarget(peer: Peer): HttpTarget {
  const { name, url, isIndexed } = peer
  return { name, url, isIndexed, headers: {}, pids: () => peer.pids(), stop: stayRunning }
}

/** What a peer has to be asked; null: it cannot do all of it. */
export function translate(peer: Peer, { operations, background }: Load): Load | null {
  const all = translateAll(peer, operations)
  const beside = background && translateAll(peer, background.operations)
  if (!all || beside === null) return null
  return { operations: all, ...(background && beside ? { background: { ...background, operations: beside } } : {}) }
}

function translateAll(peer: Peer, operations: readonly Operation[]): Operation[] | null {
  const translated = operations.flatMap((operation) => peer.translate(operation) ?? [])
  return translated.length === operations.length ? translated : null
}

function headersFor({ server, exhausted }: Bench, { key }: Scenario): Readonly<Record<string, string>> {
  if (key === 'none') return {}
  return key === 'exhausted' ? exhausted : server.headers
}
