import { stopChildren } from './children.ts'
import { restore } from './data/restore.ts'
import { type Cluster, type Database, openCluster } from './database.ts'
import type { Ending } from './ending.ts'
import { startConstant } from './floor.ts'
import { runLoad } from './load.ts'
import type { Options } from './options.ts'
import { checkPeers, type Peer, startPeers } from './peers.ts'
import { checkAnswers } from './reference.ts'
import { type Operation, readsOf, type Scenario } from './scenarios.ts'
import { type Server, startServer } from './server.ts'
import { seedOf } from './suite.ts'
import { type Asked, type HttpTarget, overHttp, serversTarget, stayRunning, type Target } from './targets.ts'

/** All that runs while scenarios are measured. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  /** The server as it runs by itself, and the same without memory. */
  readonly ours: readonly [roster: HttpTarget, noMemory: HttpTarget]
  readonly peers: readonly Peer[]
  /** The database of peers; null: there are none. */
  readonly plain: Database | null
  /** That of those that have more indexes; null: there are none. */
  readonly indexed: Database | null
}

const WARM_UP_SECONDS_MAX = 5
const WARM_UP_ROUNDS = 3

/** Starts PostgreSQL with its rows, the server with memory and without, and the peers. @throws Error when one does not start */
export async function startBench(options: Options, scenarios: readonly Scenario[], ending: Ending): Promise<Bench> {
  const { peers: names, workers, rows } = options
  const cluster = await openCluster(options.data)
  // Peers and servers end before PostgreSQL does.
  ending.add(cluster.stop, stopChildren)
  const database = await cluster.database(rows)
  const hasIndexed = names.length > 0 && scenarios.some(({ isNew }) => isNew)
  const plain = names.length > 0 ? await cluster.peersDatabase(rows, false) : null
  const indexed = hasIndexed ? await cluster.peersDatabase(rows, true) : null
  const start = async (name: string, listCache: boolean) => {
    const server = await startServer({ databaseUrl: database.url, workers, listCache })
    ending.add(server.stop)
    return targetOf(name, server)
  }
  const roster = await start('roster', true)
  const noMemory = await start('no-memory', false)
  const peers: Peer[] = []
  for (const [on, isIndexed] of [[plain, false] as const, [indexed, true] as const])
    if (on) peers.push(...(await startPeers({ databaseUrl: on.url, names, processes: workers, isIndexed })))
  return { cluster, database, ours: [roster, noMemory], peers, plain, indexed }
}

/** Asks the servers and the peers what they will be asked under load. @throws Error at the first wrong answer */
export async function checkBench({ ours, database, peers }: Bench, scenarios: readonly Scenario[]): Promise<void> {
  const servers = ours.map(({ name, urls, headers }) => ({ name, url: urls[0] as string, headers }))
  await checkAnswers(servers, database.url, readsOf(scenarios))
  for (const peer of peers) await checkPeers([peer], ours[0], readsOf(askedOf(peer, scenarios)))
}

/** What the peer can be asked, and is. */
function askedOf({ isIndexed }: Peer, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(({ isOurs = false, isNew = false }) => !isOurs && (isNew || !isIndexed))
}

/** Code is compiled and connections are made before anything is counted. */
export async function warmUp({ ours, peers }: Bench, scenarios: readonly Scenario[], options: Options): Promise<void> {
  const { connections } = options
  const seconds = Math.min(WARM_UP_SECONDS_MAX, WARM_UP_ROUNDS * options.seconds)
  const seed = seedOf(options.seed, 'warm-up', 0)
  const warm = async ({ urls, headers }: HttpTarget, operations: readonly Operation[]) => {
    if (operations.length > 0) await runLoad({ url: urls[0] as string, headers, operations, connections, seconds, seed })
  }
  for (const target of ours) await warm(target, readsOf(scenarios))
  for (const peer of peers) {
    const operations = readsOf(askedOf(peer, scenarios))
    await warm(
      peerTarget(peer),
      operations.flatMap((operation) => peer.translate(operation) ?? []),
    )
  }
}

/** The server with memory and without, the floor, and the peers that can do the scenario. */
export async function openTargets({ cluster, ours, peers }: Bench, scenario: Scenario): Promise<Target[]> {
  const on = (target: HttpTarget, asked: Asked) => overHttp(target, asked, cluster.postmasterPid)
  const constant = await startConstant(ours[0], [...scenario.operations, ...(scenario.background?.operations ?? [])])
  const others = peers.flatMap((peer) => {
    const asked = askedOf(peer, [scenario]).length > 0 ? translate(peer, scenario) : null
    return asked ? [on(peerTarget(peer), asked)] : []
  })
  return [...[...ours, constant].map((target) => on(target, scenario)), ...others]
}

/** Sets back what a round of the target has written. */
export async function restoreAfter(
  { database, peers, plain, indexed }: Bench,
  { name, isIndexed }: Pick<Target, 'name' | 'isIndexed'>,
): Promise<void> {
  const isPeer = peers.some((peer) => peer.name === name)
  const { url, rows } = (isPeer && (isIndexed ? indexed : plain)) || database
  await restore(url, rows)
}

/** One server, and several that share its workers: each is started for its round. */
export function layoutsOf(cluster: Cluster, { url }: Database, scenario: Asked, { servers, workers }: Options): Target[] {
  const count = servers ?? 1
  return [1, count].map((each) => serversTarget(each, Math.max(count, workers), url, scenario, cluster.postmasterPid))
}

function targetOf(name: string, { url, headers, pid }: Server): HttpTarget {
  return { name, urls: [url], headers, pids: () => [pid], stop: stayRunning }
}

export function peerTarget(peer: Peer): HttpTarget {
  const { name, url, isIndexed } = peer
  return { name, urls: [url], isIndexed, headers: {}, pids: () => peer.pids(), stop: stayRunning }
}

/** What a peer has to be asked; null: it cannot do all of it. */
export function translate(peer: Peer, { operations, background }: Asked): Asked | null {
  const all = translateAll(peer, operations)
  const beside = background && translateAll(peer, background.operations)
  if (!all || beside === null) return null
  return { operations: all, ...(background && beside ? { background: { ...background, operations: beside } } : {}) }
}

function translateAll(peer: Peer, operations: readonly Operation[]): Operation[] | null {
  const translated = operations.flatMap((operation) => peer.translate(operation) ?? [])
  return translated.length === operations.length ? translated : null
}
