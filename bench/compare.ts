// Compares a commit, `before`, with the working tree, `after`, in turns: `npm run bench:compare -- main`. Exit code 1: the
// working tree has lost more than the threshold, or answers wrongly; 2: nothing could be compared.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Command } from 'commander'
import { readMigrations } from '../src/postgres/migrate.ts'
import { Ending, stopChildren } from './children.ts'
import { allOf, clientsFor, putKeys } from './clients.ts'
import { type Checkout, CheckoutError, checkOut } from './compare/checkout.ts'
import { comparisonLine, comparisonOf, headLine, isFailure } from './compare/comparison.ts'
import { type Cluster, type Database, openCluster } from './database.ts'
import { readCommit } from './machine.ts'
import { loadOptions, numberIn, type Options, readCommand, rowsOf, WRONG_USAGE } from './options.ts'
import { isRestricted, type Scenario, scenariosFor, UnknownScenario, unrestricted } from './scenarios.ts'
import { type HttpTarget, startServer } from './server.ts'
import { runScenario } from './suite.ts'
import { overHttp } from './targets.ts'

const ROOT = join(import.meta.dir, '..')

const command = loadOptions(
  new Command('bench:compare')
    .description('Compares the working tree with another commit: both servers, the same load, in turns.')
    .argument('<ref>', 'the commit to compare with, such as main or HEAD~1')
    .option('--threshold <percent>', 'the loss of requests/s beyond which it fails', numberIn(0, 100), 10),
  { seconds: 2, rounds: 5 },
)
const options = readCommand(command, process.argv.slice(2)) as Options & { readonly threshold: number }
const ending = new Ending()
try {
  // An earlier commit may not have rights by row, so scenarios of such rights are compared only if `--only` names them.
  const all = scenariosFor(rowsOf(options), options.only)
  if (options.only.length > 0 && all.some(({ persons }) => persons !== undefined))
    throw new UnknownScenario('persons are not measured with other commits.')
  const scenarios = options.only.length === 0 ? unrestricted(all, 'other commits') : all
  const checkout = checkOut(ROOT, command.args[0] as string)
  ending.add(checkout.remove)
  const failures = await compare(checkout, scenarios)
  process.exitCode = failures.length > 0 ? 1 : 0
} catch (error) {
  const isKnown = error instanceof UnknownScenario || error instanceof CheckoutError
  if (!ending.isInterrupted) console.error(isKnown ? `error: ${error.message}` : error)
  process.exitCode = WRONG_USAGE
}
await ending.finish()

/** Returns the names of the scenarios in which the working tree is worse. */
async function compare(checkout: Checkout, scenarios: readonly Scenario[]): Promise<string[]> {
  const { rows, connections, rounds, seconds, threshold } = options
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const [old, ours] = await openDatabases(checkout, cluster)
  const clients = scenarios.some(isRestricted) ? allOf(clientsFor(rowsOf(options))) : []
  for (const url of new Set([old.url, ours.url])) await putKeys(url, clients)
  const targets = [await startTarget('before', checkout.root, old), await startTarget('after', ROOT, ours)]
  console.log(`before: ${checkout.commit}, after: the working tree, ${readCommit()}; ratios are after ÷ before`)
  console.log(`${rows} absences; ${connections} connections; ${rounds} rounds of four runs of ${seconds} s\n${headLine}`)
  const failures: string[] = []
  for (const scenario of scenarios) {
    const loaded = targets.map((target) => overHttp(target, scenario, cluster.postmasterPid))
    // Two rounds of the suite, A B and B A, make one block.
    const comparison = comparisonOf(await runScenario(scenario, loaded, { ...options, rounds: 2 * rounds }))
    console.log(comparisonLine(comparison, threshold))
    if (isFailure(comparison, threshold)) failures.push(scenario.name)
  }
  console.log(failures.length > 0 ? `failed: ${failures.join(', ')}` : `no loss over ${threshold} %`)
  return failures
}

/** Opens one database for both commits, or two databases if their migrations differ. */
async function openDatabases({ root, commit }: Checkout, cluster: Cluster): Promise<readonly [Database, Database]> {
  const ours = await cluster.database(rowsOf(options))
  const [before, after] = [root, ROOT].map((folder) => readMigrations(join(folder, 'sql')).map(({ checksum }) => checksum))
  if (isDeepStrictEqual(before, after)) return [ours, ours]
  console.log(`${commit} has other migrations: it gets a database of its own, which is made for this run`)
  return [await cluster.otherDatabase(rowsOf(options), join(root, 'sql')), ours]
}

async function startTarget(name: string, root: string, database: Database): Promise<HttpTarget> {
  const target = await startServer(name, database, { root })
  ending.add(target.stop)
  return target
}
