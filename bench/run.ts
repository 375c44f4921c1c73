// Measures the server, a floor, and peers: `npm run bench`, `npm run bench -- --help`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DataDirInUse } from '../src/postgres/embedded.ts'
import { checkBench, openTargets, startBench } from './bench.ts'
import { Ending, status, stopChildren } from './children.ts'
import { rightsLine } from './compare/comparison.ts'
import { measureCurves } from './curves.ts'
import { type Database, openCluster } from './database.ts'
import { describeMachine, readCommit, readVersions } from './machine.ts'
import { commandOf, readOptions, rowsOf, WRONG_USAGE } from './options.ts'
import { type Peer, peerNames } from './peers.ts'
import { NotPublished, publish } from './publish.ts'
import { writePage } from './report/page.ts'
import { formatHead, formatScenario } from './report/summary.ts'
import type { Results, ScenarioResult } from './results.ts'
import { type Scenario, scenariosFor, UnknownScenario, unrestricted } from './scenarios.ts'
import { runScenario } from './suite.ts'
import { serversTarget, type Target } from './targets.ts'

const options = readOptions(process.argv.slice(2), peerNames)
const ending = new Ending()
try {
  if (options.publish !== null) publish(options.publish, join(import.meta.dir, '..'))
  else await run(chosenScenarios())
} catch (error) {
  if (!ending.isInterrupted) console.error(messageOf(error))
  process.exitCode = error instanceof UnknownScenario ? WRONG_USAGE : 1
}
await ending.finish()

function chosenScenarios(): readonly Scenario[] {
  const scenarios = scenariosFor(rowsOf(options), options.only, options.after)
  return options.servers === null ? scenarios : unrestricted(scenarios, '--servers')
}

async function run(scenarios: readonly Scenario[]) {
  const cluster = await openCluster(options.data)
  // Peers and servers must end before PostgreSQL does.
  ending.add(cluster.stop, stopChildren)
  const { servers, workers } = options
  if (servers !== null) {
    const database = await cluster.database(rowsOf(options))
    const head = await describeRun(database, [])
    const all = Math.max(servers, workers)
    const open = (scenario: Scenario) => [1, servers].map((count) => serversTarget(cluster, database, scenario, count, all))
    return save({ ...head, curves: [], scenarios: await measureAll(scenarios, open) })
  }
  const bench = await startBench(cluster, options, scenarios, ending)
  const head = await describeRun(bench.database, bench.peers)
  status('checking answers')
  await checkBench(bench, scenarios)
  const startMs = performance.now()
  const measured = await measureAll(scenarios, (scenario) => openTargets(bench, scenario))
  await bench.stop()
  const curves = options.curves ? await measureCurves(cluster, options, ending, measured) : []
  const minutes = Number(((performance.now() - startMs) / 60_000).toFixed(1))
  save({ ...head, minutes, curves, scenarios: measured })
}

async function measureAll(scenarios: readonly Scenario[], open: (scenario: Scenario) => Target[] | Promise<Target[]>) {
  status(null)
  console.log(formatHead())
  const measured: ScenarioResult[] = []
  for (const scenario of scenarios) {
    const result = await runScenario(scenario, await open(scenario), options)
    measured.push(result)
    console.log(formatScenario(result))
    const rights = rightsLine(result)
    if (rights !== null) console.log(rights)
  }
  return measured
}

async function describeRun(
  { url, rows }: Database,
  peers: readonly Peer[],
): Promise<Omit<Results, 'minutes' | 'curves' | 'scenarios'>> {
  const { seconds, rounds, connections, workers, seed } = options
  const versions = await readVersions(url)
  for (const peer of peers.filter(({ isIndexed }) => !isIndexed)) versions[peer.name] = peer.version
  const machine = describeMachine()
  const command = commandOf(process.argv.slice(2))
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.os}`)
  const together = rows.areTogether ? ' whose properties go together' : ''
  console.log(
    `${rows.absences} absences${together}; ${connections} connections, ${rounds} × ${seconds} s, ${workers} workers, seed ${seed}`,
  )
  const load = { seconds, rounds, connections, workers, seed }
  return { date: new Date().toISOString(), command, commit: readCommit(), machine, versions, ...load, rows }
}

function save(results: Results) {
  const folder = resolve(options.output)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, results.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-'))
  writeFileSync(`${path}.json`, `${JSON.stringify(results)}\n`)
  writeFileSync(`${path}.html`, writePage(results))
  const time = results.minutes === undefined ? '' : `measured in ${results.minutes} minutes: `
  console.log(`${time}${path}.html, and .json beside it`)
}

function messageOf(error: unknown): unknown {
  if (error instanceof DataDirInUse) return `error: another run uses ${options.data}; --data names another folder`
  return error instanceof NotPublished || error instanceof UnknownScenario ? `error: ${error.message}` : error
}
