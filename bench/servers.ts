// One server against two, on one PostgreSQL and the same processors: `npm run bench:servers`; with `--changes slot,notify` one
// server that hears of changes in the one way against the other; with `--cost hook` one server without a webhook against one that has
// it. Exit code 1: answers were wrong; 2: nothing could be compared.
import { join } from 'node:path'
import { stopChildren } from './children.ts'
import { Cleanings } from './cleanings.ts'
import { rowsFor } from './data/table.ts'
import { type Database, openCluster } from './database.ts'
import { readCommit } from './machine.ts'
import { UnknownScenario } from './scenarios.ts'
import { hasFault, resultLine, type SidesResult } from './servers/lines.ts'
import { runSide, type SideRun } from './servers/measure.ts'
import { type CostOf, readOptions, WRONG_USAGE } from './servers/options.ts'
import { startReceiver } from './servers/receiver.ts'
import { type ServersScenario, scenariosOf } from './servers/scenarios.ts'
import type { Side, Way } from './servers/sides.ts'
import { status } from './status.ts'
import { seedOf } from './suite.ts'

/** What an operator's PostgreSQL has for either way; migrations make other triggers by it. */
const LOG_LEVELS: Record<Way, string> = { slot: 'logical', notify: 'replica', off: 'replica' }

const options = readOptions(process.argv.slice(2))
const cleanings = new Cleanings()
try {
  const kind = options.cost !== null ? 'costs' : options.changes === null ? 'layouts' : 'ways'
  const scenarios = scenariosOf(kind, rowsFor(options.rows), options.only)
  const wrong = await compare(scenarios)
  process.exitCode = wrong.length > 0 ? 1 : 0
} catch (error) {
  if (!cleanings.isInterrupted) console.error(error instanceof UnknownScenario ? `error: ${error.message}` : error)
  process.exitCode = WRONG_USAGE
}
await cleanings.finish()

/** Returns the names of the scenarios that were answered wrongly. */
async function compare(scenarios: readonly ServersScenario[]): Promise<string[]> {
  const { rows, connections, rounds, seconds, workers } = options
  const [first, second] = await openSides()
  console.log(`${readCommit()}: ${first.name} → ${second.name}; ratios are ${second.name} ÷ ${first.name}`)
  console.log(
    `${rows} absences; ${connections} connections; ${workers} workers in all; ${rounds} rounds of four runs of ${seconds} s`,
  )
  const wrong: string[] = []
  for (const scenario of scenarios) {
    const result = await measure(scenario, first, second)
    console.log(resultLine(result))
    if (hasFault(result)) wrong.push(scenario.name)
  }
  console.log(wrong.length > 0 ? `wrong: ${wrong.join(', ')}` : 'every answer as expected')
  return wrong
}

async function openSides(): Promise<readonly [Side, Side]> {
  const { changes, cost, workers } = options
  if (cost !== null) return openCosts(cost)
  if (changes === null) {
    const side = { database: await openDatabase('slot'), workers, way: 'slot' } as const
    return [
      { ...side, name: 'one server', servers: 1 },
      { ...side, name: 'two servers', servers: 2 },
    ]
  }
  const open = async (way: Way): Promise<Side> => {
    return { name: `CHANGES=${way}`, database: await openDatabase(way), servers: 1, workers, way }
  }
  const [asked, other] = changes
  return [await open(other), await open(asked)]
}

async function openCosts(cost: CostOf): Promise<readonly [Side, Side]> {
  const side = { database: await openDatabase('slot'), servers: 1, workers: options.workers, way: 'slot' } as const
  if (cost === 'lines')
    return [
      { ...side, name: 'CHANGES_DAYS=0', settings: { CHANGES_DAYS: '0' } },
      { ...side, name: 'with lines' },
    ]
  const receiver = await startReceiver()
  return [
    { ...side, name: 'no webhook' },
    { ...side, name: 'one webhook', settings: { HOOKS_ALLOW: '127.0.0.1' }, receiver },
  ]
}

/** A PostgreSQL of its own for each way, with the settings and the triggers that an operator has there. */
async function openDatabase(way: Way): Promise<Database> {
  const settings = { wal_level: LOG_LEVELS[way] }
  const cluster = await openCluster({ dataDir: join(options.data, way), settings })
  cleanings.add(cluster.stop)
  const database = await cluster.database(options.rows)
  cleanings.add(stopChildren)
  return database
}

/** In turns, A B B A, so that what drifts evenly meanwhile hits both sides alike. */
async function measure(scenario: ServersScenario, first: Side, second: Side): Promise<SidesResult> {
  const runs = new Map<Side, SideRun[]>([
    [first, []],
    [second, []],
  ])
  for (let round = 1; round <= options.rounds; round++)
    for (const side of [first, second, second, first]) {
      status(`${scenario.name}: ${side.name}, round ${round} of ${options.rounds}`)
      const seed = seedOf(0, scenario.name, round)
      runs.get(side)?.push(await runSide(side, scenario, { ...options, seed }))
    }
  status(null)
  return { scenario: scenario.name, first: runs.get(first) ?? [], second: runs.get(second) ?? [] }
}
