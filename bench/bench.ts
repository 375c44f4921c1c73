import { type Cluster, type Database, openCluster } from './database.ts'
import { exhaust, makeExhaustedKey } from './exhaustedKey.ts'
import { type SqlFloor, sqlFloor } from './floors/sql.ts'
import { runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import type { Options } from './options.ts'
import { checkPeers, type Peer, startPeers } from './peers.ts'
import { checkAnswers } from './reference.ts'
import { isRefusal, type Scenario } from './scenarios.ts'
import { type Server, startServer } from './server.ts'
import { type Site, siteTarget, sqlTarget, startBare, startConstant, type Target } from './targets.ts'

/** All that runs while the suite measures. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  readonly server: Server
  readonly peers: readonly Peer[]
  readonly sqlFloor: SqlFloor
  /** With a key whose limit is used up. */
  readonly exhausted: Readonly<Record<string, string>>
}

type Load = Pick<Scenario, 'operations' | 'background'>

/** More than the server, the floor and all peers have open at once. */
const CONNECTIONS_OF_SERVERS = 400
const WARM_UP_SECONDS_MAX = 5
const WARM_UP_ROUNDS = 3

const stayRunning = async () => undefined

/** What has to be stopped, the last one first. */
export type Started = { stop(): Promise<void> }[]

/**
 * Starts PostgreSQL with its rows, the server, and the peers, and notes each in `started` once it runs.
 * @throws Error when one of them does not come up
 */
export async function startBench(options: Options, started: Started): Promise<Bench> {
  const connections = CONNECTIONS_OF_SERVERS + options.connections // pgbench has as many as the load
  const cluster = await openCluster({ dataDir: options.data, settings: { max_connections: String(connections) } })
  started.push(cluster)
  const database = await cluster.database(options.rows)
  const exhausted = await makeExhaustedKey(database.url)
  const server = await startServer({ databaseUrl: database.url, workers: options.workers })
  started.push(server)
  await exhaust(server.url, exhausted)
  const processes = server.workerPids().length || options.workers
  const peers =
    options.peers.length > 0 ? await startPeers({ databaseUrl: database.url, names: options.peers, processes }) : []
  started.push(...peers)
  return { cluster, database, server, peers, sqlFloor: sqlFloor(), exhausted }
}

/** Asks the server and the peers what they will be asked under load. @throws Error at the first wrong answer */
export async function checkBench({ server, database, peers }: Bench, scenarios: readonly Scenario[]): Promise<void> {
  const operations = scenarios.flatMap((scenario) => scenario.operations).filter(isRead)
  await checkAnswers(server.url, server.key, database.url, operations)
  if (peers.length > 0) await checkPeers(peers, server.url, server.key, operations)
}

/** Code is compiled and connections are made before anything is counted. */
export async function warmUp(bench: Bench, scenarios: readonly Scenario[], options: Options): Promise<void> {
  const operations = scenarios.flatMap((scenario) => scenario.operations).filter(isRead)
  if (operations.length === 0) return
  const seconds = Math.min(WARM_UP_SECONDS_MAX, WARM_UP_ROUNDS * options.seconds)
  const { connections } = options
  for (const site of [rosterSite(bench), ...bench.peers.map(peerSite)]) {
    const peer = bench.peers.find(({ name }) => name === site.name)
    const load = peer ? translate(peer, { operations }) : { operations }
    if (load) await runLoad({ url: site.url, headers: site.headers, operations: load.operations, connections, seconds })
  }
}

/** The server, the floors of the scenario, and the peers that can do it. */
export async function openTargets(bench: Bench, scenario: Scenario): Promise<Target[]> {
  const { cluster, database, sqlFloor } = bench
  const operations = [...scenario.operations, ...(scenario.background?.operations ?? [])]
  const roster = { ...rosterSite(bench), headers: headersFor(bench, scenario) }
  const on = (site: Site, load: Load = scenario) => siteTarget(site, load, cluster.postmasterPid)
  if (isRefusal(scenario)) return [on(roster), on(await startConstant(roster, operations))]
  const [constant, bare, sql] = await Promise.all([
    startConstant(roster, operations),
    startBare(database.url, operations),
    sqlTarget(sqlFloor, database.url, scenario, cluster.postmasterPid),
  ])
  const peers = bench.peers.flatMap((peer) => {
    const load = translate(peer, scenario)
    return load ? [on(peerSite(peer), load)] : []
  })
  return [on(roster), on(constant), on(bare), sql, ...peers]
}

/** The server as something to load; it goes on when its target stops. */
export function rosterSite({ server }: Bench): Site {
  const { url, headers, pid } = server
  return { name: 'roster', url, headers, pids: () => [pid], stop: stayRunning }
}

export function peerSite(peer: Peer): Site {
  const { name, url } = peer
  return { name, url, headers: {}, pids: () => peer.pids(), stop: stayRunning }
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

function isRead({ method, status }: Operation): boolean {
  return method === 'GET' && status === 200
}
