import type { Ending } from './children.ts'
import { addRowSecurity, allOf, byWholeKey, clientsFor, LIMITS_OF_MANY, putKeys } from './clients.ts'
import { restore } from './data.ts'
import type { Cluster, Database } from './database.ts'
import { startConstant } from './floor.ts'
import type { Operation } from './operation.ts'
import { type Options, rowsOf } from './options.ts'
import { hasRowSecurity, type Peer, startPeers } from './peers.ts'
import { addAddresses, clientOfPersons, openIssuer } from './persons.ts'
import { checkAnswers } from './reference.ts'
import { KEYS, WHOLE_KEY } from './report/summary.ts'
import { isRestricted, operationsOf, readsOf, type Scenario } from './scenarios.ts'
import { type HttpTarget, startServer } from './server.ts'
import { ROUNDS_MAX } from './suite.ts'
import { type Asked, overHttp, type Target } from './targets.ts'

/** Servers under test, running while scenarios are measured. */
export interface Bench {
  readonly cluster: Cluster
  readonly database: Database
  /** The server with default settings, and the server without lists in memory. */
  readonly ours: readonly [roster: HttpTarget, noMemory: HttpTarget]
  readonly peers: readonly Peer[]
  /** Number of lists of another kind before a round. */
  readonly listsBefore: number
  /**
   * Starts one more server, with default settings or with `settings`, so that a scenario gets a server without earlier requests.
   */
  start(name: string, settings?: Readonly<Record<string, string>>): Promise<HttpTarget>
  stop(): Promise<void>
}

/** Starts the server with and without memory, and the peers, each on its database. @throws Error if one does not start */
export async function startBench(
  cluster: Cluster,
  options: Options,
  scenarios: readonly Scenario[],
  ending: Ending,
): Promise<Bench> {
  const { peers: names, workers } = options
  const rows = rowsOf(options)
  const database = await cluster.database(rows)
  const kinds = names.length === 0 ? [] : scenarios.some(({ isNew }) => isNew) ? [false, true] : [false]
  // PostgreSQL copies a database only while it has no other connections.
  const databases: [boolean, Database][] = []
  for (const isIndexed of kinds) databases.push([isIndexed, await cluster.peersDatabase(rows, isIndexed)])
  const { readers } = clientsFor(rows)
  if (scenarios.some(isRestricted)) for (const [, { url }] of databases) await addRowSecurity(url, readers)
  // Removes the keys that an interrupted run has left.
  await putKeys(database.url, [])
  const start = async (name: string, hasMemory: boolean, settings: Readonly<Record<string, string>> = {}) => {
    const target = await startServer(name, database, { workers, hasMemory, settings })
    ending.add(target.stop)
    return target
  }
  const ours = [await start('roster', true), await start('no-memory', false)] as const
  const peers: Peer[] = []
  const asked = names.filter((name) => scenarios.some((scenario) => isRestricted(scenario) === hasRowSecurity(name)))
  for (const [isIndexed, database] of databases)
    peers.push(...(await startPeers(asked, { database, processes: workers, isIndexed })))
  const stop = async () => void (await Promise.all([...ours, ...peers].map((target) => target.stop())))
  const startOne: Bench['start'] = (name, settings) => start(name, true, settings)
  return { cluster, database, ours, peers, listsBefore: options.listsBefore, start: startOne, stop }
}

/** Compares answers of the servers and the peers with results of SQL written by hand. @throws Error at the first wrong answer */
export async function checkBench({ ours, database, peers }: Bench, scenarios: readonly Scenario[]): Promise<void> {
  const isForOurs = (scenario: Scenario) => !isRestricted(scenario)
  await checkAnswers(ours, database.url, readsOf(scenarios.filter(isForOurs)))
  for (const peer of peers) await checkAnswers([peer], database.url, readsOf(askedOf(peer, scenarios)))
}

/** Returns the scenarios that a peer takes part in. */
function askedOf({ isIndexed, hasRowSecurity }: Peer, scenarios: readonly Scenario[]): Scenario[] {
  return scenarios.filter(
    (scenario) => (scenario.isNew || !isIndexed) && isRestricted(scenario) === hasRowSecurity && scenario.persons === undefined,
  )
}

/** Returns the targets of a scenario: the server with and without memory, the floor, and the peers that can do it. */
export async function openTargets(bench: Bench, scenario: Scenario): Promise<Target[]> {
  const { cluster, ours, peers } = bench
  const on = (target: HttpTarget, asked: Asked) => overHttp(target, asked, cluster.postmasterPid)
  const others = peers.flatMap((peer) => {
    const asked = askedOf(peer, [scenario]).length > 0 ? translate(peer, scenario) : null
    return asked ? [on(peer, asked)] : []
  })
  if (scenario.persons !== undefined) return startPersons(bench, scenario.operations, scenario.persons)
  if (isRestricted(scenario)) return [...(await startRestricted(bench, scenario)), ...others]
  const constant = await startConstant(ours[0], operationsOf(scenario))
  const own = scenario.after ? await startOwn(bench, scenario) : [on(ours[0], scenario)]
  return [...own, on(ours[1], scenario), { ...on(constant, scenario), stop: constant.stop }, ...others]
}

/**
 * Starts a server for a scenario of keys with few rights. These keys and keys with all rights request the same rows in turns.
 * Compares the answers to both. @throws Error if an answer is wrong
 */
async function startRestricted({ cluster, database, start }: Bench, { operations }: Scenario): Promise<Target[]> {
  await putKeys(database.url, allOf(clientsFor(database.rows)))
  const server = await start('roster', LIMITS_OF_MANY)
  const byWhole = operations.map(byWholeKey)
  await checkAnswers([server], database.url, [...operations, ...byWhole])
  const stop = async () => {
    await server.stop()
    await putKeys(database.url, [])
  }
  return inTurns(cluster, server, operations, { name: WHOLE_KEY, operations: byWhole }, stop)
}

/**
 * Starts a server for a scenario of persons. The persons and keys with the same kind of rights request the same rows in turns.
 * Compares the answers to both. @throws Error if an answer is wrong
 */
async function startPersons({ cluster, database, start }: Bench, operations: readonly Operation[], persons: number) {
  const issuer = openIssuer(persons)
  await putKeys(database.url, [clientOfPersons(persons)])
  await addAddresses(database.url, persons)
  const server = await start('roster', { ...LIMITS_OF_MANY, ...issuer.settings })
  const byPersons = operations.map((operation) => ({ ...operation, tokens: issuer.tokens }))
  const byKeys = operations.map(({ whole, ...operation }): Operation => {
    return { ...operation, ...(whole?.key === undefined ? {} : { key: whole.key }), ...(whole && { whole }) }
  })
  await checkAnswers([server], database.url, [...byPersons, ...byKeys])
  const stop = async () => {
    await server.stop()
    issuer.stop()
    await putKeys(database.url, [])
    await restore(database.url, database.rows)
  }
  return inTurns(cluster, server, byPersons, { name: KEYS, operations: byKeys }, stop)
}

/** Returns two targets of one server. `second`: name and operations of the second target. `stop` belongs to the first target. */
function inTurns(
  { postmasterPid }: Cluster,
  server: HttpTarget,
  operations: readonly Operation[],
  second: { readonly name: string; readonly operations: readonly Operation[] },
  stop: () => Promise<void>,
): Target[] {
  const one = overHttp(server, { operations }, postmasterPid)
  const other = overHttp({ ...server, name: second.name }, { operations: second.operations }, postmasterPid)
  // With the random values of the first target, the lists would not be new to the server.
  const measure: Target['measure'] = (round) => other.measure({ ...round, seed: round.seed + ROUNDS_MAX / 2 })
  return [
    { ...one, stop },
    { ...other, measure },
  ]
}

/**
 * Starts servers for one scenario: one server without other requests, and one for each kind of lists that is requested before.
 */
async function startOwn({ cluster, listsBefore, start }: Bench, { after = [], ...scenario }: Scenario): Promise<Target[]> {
  const targets: Target[] = []
  for (const before of [null, ...after]) {
    const server = await start(before ? `roster-after-${before.kind}` : 'roster')
    const asked = { ...scenario, ...(before ? { before: { operation: before.operation, lists: listsBefore } } : {}) }
    targets.push({ ...overHttp(server, asked, cluster.postmasterPid), stop: server.stop })
  }
  return targets
}

/** Translates a load for a peer; null if the peer cannot do all of it. */
function translate(peer: Peer, asked: Asked): Asked | null {
  const all = operationsOf(asked).map((operation) => peer.translate(operation))
  if (all.includes(null)) return null
  const [operations, beside] = [all.slice(0, asked.operations.length), all.slice(asked.operations.length)] as Operation[][]
  return { operations, ...(asked.background ? { background: { ...asked.background, operations: beside } } : {}) } as Asked
}
