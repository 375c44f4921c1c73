import type { Ending } from './children.ts'
import type { Cluster, Database } from './database.ts'
import { startConstant } from './floor.ts'
import type { Operation } from './operation.ts'
import type { Options } from './options.ts'
import { type Peer, startPeers } from './peers.ts'
import { checkAnswers } from './reference.ts'
import { operationsOf, readsOf, type Scenario } from './scenarios.ts'
import { type HttpTarget, startServer } from './server.ts'
import { type Asked, overHttp, type Target } from './targets.ts'

/** Servers under test, running while scenarios are measured. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  /** The server with its defaults, and with its memory off. */
  readonly ours: readonly [roster: HttpTarget, noMemory: HttpTarget]
  readonly peers: readonly Peer[]
  stop(): Promise<void>
}

/** Starts the server with and without memory, and the peers, each on its database. @throws Error if one does not start */
export async function startBench(
  cluster: Cluster,
  { peers: names, workers, rows }: Pick<Options, 'peers' | 'workers' | 'rows'>,
  scenarios: readonly Scenario[],
  ending: Ending,
): Promise<Bench> {
  const database = await cluster.database(rows)
  const kinds = names.length === 0 ? [] : scenarios.some(({ isNew }) => isNew) ? [false, true] : [false]
  // PostgreSQL copies a database only while it has no other connections.
  const databases: [boolean, Database][] = []
  for (const isIndexed of kinds) databases.push([isIndexed, await cluster.peersDatabase(rows, isIndexed)])
  const start = async (name: string, hasMemory: boolean) => {
    const target = await startServer(name, database, { workers, hasMemory })
    ending.add(target.stop)
    return target
  }
  const ours = [await start('roster', true), await start('no-memory', false)] as const
  const peers: Peer[] = []
  for (const [isIndexed, database] of databases)
    peers.push(...(await startPeers(names, { database, processes: workers, isIndexed })))
  const stop = async () => void (await Promise.all([...ours, ...peers].map((target) => target.stop())))
  return { cluster, database, ours, peers, stop }
}

/** Compares answers of the servers and the peers with those of SQL written by hand. @throws Error at the first wrong answer */
export async function checkBench({ ours, database, peers }: Bench, scenarios: readonly Scenario[]): Promise<void> {
  await checkAnswers(ours, database.url, readsOf(scenarios))
  for (const peer of peers) await checkAnswers([peer], database.url, readsOf(askedOf(peer, scenarios)))
}

/** Returns the scenarios of a peer. */
function askedOf({ isIndexed }: Peer, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(({ isNew = false }) => isNew || !isIndexed)
}

/** Returns the targets of a scenario: the server with and without memory, the floor, and the peers that can do it. */
export async function openTargets({ cluster, ours, peers }: Bench, scenario: Scenario): Promise<Target[]> {
  const on = (target: HttpTarget, asked: Asked) => overHttp(target, asked, cluster.postmasterPid)
  const constant = await startConstant(ours[0], operationsOf(scenario))
  const others = peers.flatMap((peer) => {
    const asked = askedOf(peer, [scenario]).length > 0 ? translate(peer, scenario) : null
    return asked ? [on(peer, asked)] : []
  })
  return [...ours.map((target) => on(target, scenario)), { ...on(constant, scenario), stop: constant.stop }, ...others]
}

/** Translates a load for a peer; null if the peer cannot do all of it. */
function translate(peer: Peer, asked: Asked): Asked | null {
  const all = operationsOf(asked).map((operation) => peer.translate(operation))
  if (all.includes(null)) return null
  const [operations, beside] = [all.slice(0, asked.operations.length), all.slice(asked.operations.length)] as Operation[][]
  return { operations, ...(asked.background ? { background: { ...asked.background, operations: beside } } : {}) } as Asked
}
