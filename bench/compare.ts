// Two commits in turns: `npm run bench:compare -- main`. Before is that commit, after is the working tree. Exit code 1:
// the working tree has lost more than the threshold, or answers wrongly; 2: nothing could be compared.
import { join } from 'node:path'
import { stopChildren } from './children.ts'
import { Cleanings } from './cleanings.ts'
import { type Checkout, CheckoutError, checkOut } from './compare/checkout.ts'
import { comparisonLine, comparisonOf, headLine, isFailure } from './compare/lines.ts'
import { readOptions, WRONG_USAGE } from './compare/options.ts'
import {
  type CommitTarget,
  dropDatabase,
  forgetTargets,
  makeDatabase,
  openDatabase,
  openTarget,
  restoreTargets,
  sameMigrations,
  underLoad,
} from './compare/targets.ts'
import { rowsFor } from './data/table.ts'
import { type Cluster, openCluster } from './database.ts'
import { readCommit } from './machine.ts'
import type { ScenarioResult } from './results.ts'
import { type Scenario, scenariosFor, UnknownScenario } from './scenarios.ts'
import { status } from './status.ts'
import { runScenario } from './suite.ts'

const ROOT = join(import.meta.dir, '..')

const options = readOptions(process.argv.slice(2))
const cleanings = new Cleanings()
try {
  const scenarios = scenariosFor(rowsFor(options.rows), options.only)
  const checkout = checkOut(ROOT, options.ref)
  cleanings.add(checkout.remove)
  const failures = await compare(checkout, scenarios)
  process.exitCode = failures.length > 0 ? 1 : 0
} catch (error) {
  const isKnown = error instanceof UnknownScenario || error instanceof CheckoutError
  if (!cleanings.isInterrupted) console.error(isKnown ? `error: ${error.message}` : error)
  process.exitCode = WRONG_USAGE
}
await cleanings.finish()

/** Returns the names of the scenarios in which the working tree fails. */
async function compare(checkout: Checkout, scenarios: readonly Scenario[]): Promise<string[]> {
  const { rows, connections, rounds, seconds, threshold } = options
  const cluster = await openCluster({ dataDir: options.data })
  cleanings.add(cluster.stop, stopChildren)
  const targets = await openTargets(checkout, cluster)
  console.log(`before: ${checkout.commit}, after: the working tree, ${readCommit()}; ratios are after ÷ before`)
  console.log(
    `${rows} absences; ${connections} connections; ${rounds} rounds of four runs of ${seconds} s\n${headLine}`,
  )
  const failures: string[] = []
  for (const scenario of scenarios) {
    const comparison = comparisonOf(await measure(scenario, targets, cluster))
    console.log(comparisonLine(comparison, threshold))
    if (isFailure(comparison, threshold)) failures.push(scenario.name)
  }
  console.log(failures.length > 0 ? `failed: ${failures.join(', ')}` : `no loss over ${threshold} %`)
  return failures
}

async function openTargets(checkout: Checkout, cluster: Cluster): Promise<CommitTarget[]> {
  const database = await openDatabase(cluster, options.rows)
  const isShared = sameMigrations(ROOT, checkout.root)
  if (!isShared) {
    console.log(`${checkout.commit} has other migrations: it gets a database of its own, which is made for this run`)
    cleanings.add(() => dropDatabase(cluster))
  }
  const old = isShared ? database : await makeDatabase(cluster, checkout.root, database.rows)
  const targets: CommitTarget[] = []
  for (const [name, root, on] of [
    ['before', checkout.root, old],
    ['after', ROOT, database],
  ] as const) {
    const target = await openTarget(name, root, on)
    cleanings.add(target.server.stop)
    targets.push(target)
  }
  return targets
}

/** Two rounds of the suite, A B and B A, are one of ours. */
async function measure(
  scenario: Scenario,
  targets: readonly CommitTarget[],
  cluster: Cluster,
): Promise<ScenarioResult> {
  const rounds = 2 * options.rounds
  const loaded = await Promise.all(targets.map((target) => underLoad(target, scenario, cluster)))
  const onRound = (name: string, round: number) => status(`${scenario.name}: ${name}, run ${round} of ${rounds}`)
  const result = await runScenario(scenario, loaded, {
    ...options,
    rounds,
    restore: () => restoreTargets(targets),
    forget: () => forgetTargets(targets),
    onRound,
  })
  status(null)
  return result
}
