// Two commits in turns: `npm run bench:compare -- main`. Before is that commit, after is the working tree. Exit code 1:
// the working tree has lost more than the threshold, or answers wrongly; 2: nothing could be compared.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readMigrations } from '../src/postgres/migrate.ts'
import { stopChildren } from './children.ts'
import { type Checkout, CheckoutError, checkOut } from './compare/checkout.ts'
import { comparisonLine, comparisonOf, headLine, isFailure } from './compare/lines.ts'
import { readOptions } from './compare/options.ts'
import { forgetLists, restore } from './data/restore.ts'
import { rowsFor } from './data/rows.ts'
import { type Cluster, type Database, openCluster } from './database.ts'
import { Ending, status } from './ending.ts'
import { readCommit } from './machine.ts'
import { WRONG_USAGE } from './options.ts'
import type { ScenarioResult } from './results.ts'
import { type Scenario, scenariosFor, UnknownScenario } from './scenarios.ts'
import { startServer } from './server.ts'
import { runScenario } from './suite.ts'
import { type HttpTarget, overHttp } from './targets.ts'

const ROOT = join(import.meta.dir, '..')

const options = readOptions(process.argv.slice(2))
const ending = new Ending()
try {
  const scenarios = scenariosFor(rowsFor(options.rows), options.only)
  const checkout = checkOut(ROOT, options.ref)
  ending.add(checkout.remove)
  const failures = await compare(checkout, scenarios)
  process.exitCode = failures.length > 0 ? 1 : 0
} catch (error) {
  const isKnown = error instanceof UnknownScenario || error instanceof CheckoutError
  if (!ending.isInterrupted) console.error(isKnown ? `error: ${error.message}` : error)
  process.exitCode = WRONG_USAGE
}
await ending.finish()

/** Returns the names of the scenarios in which the working tree fails. */
async function compare(checkout: Checkout, scenarios: readonly Scenario[]): Promise<string[]> {
  const { rows, connections, rounds, seconds, threshold } = options
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const databases = await openDatabases(checkout, cluster)
  const [old, ours] = databases
  const targets = [await startTarget('before', checkout.root, old), await startTarget('after', ROOT, ours)]
  console.log(`before: ${checkout.commit}, after: the working tree, ${readCommit()}; ratios are after ÷ before`)
  console.log(`${rows} absences; ${connections} connections; ${rounds} rounds of four runs of ${seconds} s\n${headLine}`)
  const failures: string[] = []
  for (const scenario of scenarios) {
    const comparison = comparisonOf(await measure(scenario, targets, databases, cluster))
    console.log(comparisonLine(comparison, threshold))
    if (isFailure(comparison, threshold)) failures.push(scenario.name)
  }
  console.log(failures.length > 0 ? `failed: ${failures.join(', ')}` : `no loss over ${threshold} %`)
  return failures
}

/** One database for both, unless their migrations differ. */
async function openDatabases({ root, commit }: Checkout, cluster: Cluster): Promise<readonly [Database, Database]> {
  const ours = await cluster.database(options.rows)
  const [before, after] = [root, ROOT].map((folder) => readMigrations(join(folder, 'sql')).map(({ checksum }) => checksum))
  if (isDeepStrictEqual(before, after)) return [ours, ours]
  console.log(`${commit} has other migrations: it gets a database of its own, which is made for this run`)
  return [await cluster.otherDatabase(options.rows, join(root, 'sql')), ours]
}

async function startTarget(name: string, root: string, { url: databaseUrl }: Database): Promise<HttpTarget> {
  const { url, headers, pid, stop } = await startServer({ databaseUrl, root })
  return { name, urls: [url], headers, pids: () => [pid], stop }
}

/** Two rounds of the suite, A B and B A, are one of ours. */
async function measure(
  scenario: Scenario,
  targets: readonly HttpTarget[],
  databases: readonly Database[],
  cluster: Cluster,
): Promise<ScenarioResult> {
  const rounds = 2 * options.rounds
  const each = async (work: (database: Database) => Promise<void>) => {
    for (const database of new Set(databases)) await work(database)
  }
  const loaded = targets.map((target) => overHttp(target, scenario, cluster.postmasterPid))
  const result = await runScenario(scenario, loaded, {
    ...options,
    rounds,
    restore: () => each(({ url, rows }) => restore(url, rows)),
    forget: () => each(({ url }) => forgetLists(url)),
    onRound: (name, round) => status(`${scenario.name}: ${name}, run ${round} of ${rounds}`),
  })
  status(null)
  return result
}
