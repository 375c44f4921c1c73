import type { Ending } from './children.ts'
import type { Cluster, Database } from './database.ts'
import { startConstant } from './floor.ts'
import type { Options } from './options.ts'
import { type Peer, startPeers } from './peers.ts'
import { checkAnswers } from './reference.ts'
import { type Operation, readsOf, type Scenario } from './scenarios.ts'
import { startServer } from './server.ts'
import { type Asked, type HttpTarget, overHttp, type Target } from './targets.ts'

/** The servers that run while scenarios are measured. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  /** The server as it runs by itself, and without memory. */
  readonly ours: readonly [roster: HttpTarget, noMemory: HttpTarget]
  readonly peers: readonly (Peer & HttpTarget)[]
  stop(): Promise<void>
}

/** Starts the server with memory and without, and the peers, each on its database. @throws Error when one does not start */
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
  const start = async (name: string, hasMemory: boolean): Promise<HttpTarget> => {
    const { url, headers, pid, stop } = await startServer({ databaseUrl: database.url, workers, hasMemory })
    ending.add(stop)
    return { name, urls: [url], headers, pids: () => [pid], database, stop }
  }
  const ours = [await start('roster', true), await start('no-memory', false)] as const
  const peers: (Peer & HttpTarget)[] = []
  for (const [isIndexed, database] of databases)
    for (const peer of await startPeers({ databaseUrl: database.url, names, processes: workers, isIndexed }))
      peers.push({ ...peer, urls: [peer.url], headers: {}, database })
  const stop = async () => void (await Promise.all([...ours, ...peers].map((target) => target.stop())))
  return { cluster, database, ours, peers, stop }
}

/** Compares answers of the servers and the peers with SQL written by hand. @throws Error at the first wrong answer */
export async function checkBench({ ours, database, peers }: Bench, scenarios: readonly Scenario[]): Promise<void> {
  const servers = ours.map(({ name, urls, headers }) => ({ name, url: urls[0] as string, headers }))
  await checkAnswers(servers, database.url, readsOf(scenarios))
  for (const peer of peers) await checkAnswers([peer], database.url, readsOf(askedOf(peer, scenarios)))
}

/** Lists the scenarios that a peer is asked. */
function askedOf({ isIndexed }: Peer, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(({ isNew = false }) => isNew || !isIndexed)
}

/** Lists the server with memory and without, the floor, and the peers that can do the scenario. */
export async function openTargets({ cluster, ours, peers }: Bench, scenario: Scenario): Promise<Target[]> {
  const on = (target: HttpTarget, asked: Asked) => overHttp(target, asked, cluster.postmasterPid)
  const constant = await startConstant(ours[0], [...scenario.operations, ...(scenario.background?.operations ?? [])])
  const others = peers.flatMap((peer) => {
    const asked = askedOf(peer, [scenario]).length > 0 ? translate(peer, scenario) : null
    return asked ? [on({ ...peer, stop: async () => undefined }, asked)] : []
  })
  const own = ours.map((target) => on({ ...target, stop: async () => undefined }, scenario))
  return [...own, on(constant, scenario), ...others]
}

/** Translates all that a peer has to be asked; null: it cannot do all of it. */
function translate(peer: Peer, { operations, background }: Asked): Asked | null {
  const all = translateAll(peer, operations)
  const beside = background && translateAll(peer, background.operations)
  if (!all || beside === null) return null
  return { operations: all, ...(background && beside ? { background: { ...background, operations: beside } } : {}) }
}

function translateAll(peer: Peer, operations: readonly Operation[]): Operation[] | null {
  const translated = operations.flatMap((operation) => peer.translate(operation) ?? [])
  return translated.length === operations.length ? translated : null
}
