// Measures the server, a floor beneath it, and others like it: `npm run bench`, `npm run bench -- --help`.
// Figures of one run compare with each other; the machine's noise is larger than most differences between runs.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DataDirInUse } from '../src/postgres/embedded.ts'
import { checkBench, layoutsOf, openTargets, restoreAfter, startBench, warmUp } from './bench.ts'
import { stopChildren } from './children.ts'
import { measureCurves } from './curves.ts'
import { forgetLists, restore } from './data/restore.ts'
import { rowsFor } from './data/rows.ts'
import { type Database, openCluster } from './database.ts'
import { Ending, status } from './ending.ts'
import { describeMachine, readCommit, readVersions } from './machine.ts'
import { readOptions, WRONG_USAGE } from './options.ts'
import { type Peer, peerNames } from './peers.ts'
import { NotPublished, publish } from './publish.ts'
import { writePage } from './report/page.ts'
import { formatHead, formatScenario } from './report/table.ts'
import { type Results, type ScenarioResult, writeJson } from './results.ts'
import { type Scenario, scenariosFor, UnknownScenario } from './scenarios.ts'
import { runScenario } from './suite.ts'
import type { Target } from './targets.ts'

const ROOT = join(import.meta.dir, '..')
const options = readOptions(process.argv.slice(2), peerNames)
const ending = new Ending()
try {
  if (options.publish !== null) publish(options.publish, ROOT)
  else {
    const scenarios = scenariosFor(rowsFor(options.rows), options.only)
    await (options.servers === null ? run(scenarios) : compareLayouts(scenarios))
  }
} catch (error) {
  if (!ending.isInterrupted) console.error(messageOf(error))
  process.exitCode = error instanceof UnknownScenario ? WRONG_USAGE : 1
}
await ending.finish()

async function run(scenarios: readonly Scenario[]) {
  const bench = await startBench(options, scenarios, ending)
  const { database } = bench
  const head = await describeRun(database, bench.peers)
  status('checking answers')
  await checkBench(bench, scenarios)
  status('warming up')
  await warmUp(bench, scenarios, options)
  const open = (scenario: Scenario) => openTargets(bench, scenario)
  const measured = await measureAll(scenarios, database, open, (target) => restoreAfter(bench, target))
  save({ ...head, curves: options.curves ? await measureCurves(bench, options) : [], scenarios: measured })
}

async function compareLayouts(scenarios: readonly Scenario[]) {
  const cluster = await openCluster(options.data)
  ending.add(cluster.stop, stopChildren)
  const database = await cluster.database(options.rows)
  const head = await describeRun(database, [])
  const open = async (scenario: Scenario) => layoutsOf(cluster, database, scenario, options)
  const measured = await measureAll(scenarios, database, open, () => restore(database.url, database.rows))
  save({ ...head, curves: [], scenarios: measured })
}

async function measureAll(
  scenarios: readonly Scenario[],
  { url }: Database,
  open: (scenario: Scenario) => Promise<Target[]>,
  restoreRows: (target: Target) => Promise<void>,
): Promise<ScenarioResult[]> {
  status(null)
  console.log(formatHead())
  const measured: ScenarioResult[] = []
  for (const scenario of scenarios) {
    const targets = await open(scenario)
    const result = await runScenario(scenario, targets, {
      ...options,
      restore: restoreRows,
      forget: () => forgetLists(url),
      onRound: (target, round) => status(`${scenario.name}: ${target}, round ${round} of ${options.rounds}`),
    })
    for (const target of targets) await target.stop()
    status(null)
    measured.push(result)
    console.log(formatScenario(result))
  }
  return measured
}

async function describeRun({ url, rows }: Database, peers: readonly Peer[]): Promise<Omit<Results, 'curves' | 'scenarios'>> {
  const { seconds, rounds, connections, workers, seed } = options
  const versions = await readVersions(url)
  for (const peer of peers.filter(({ isIndexed }) => !isIndexed)) versions[peer.name] = peer.version
  const machine = describeMachine()
  const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ')
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.os}`)
  console.log(`${rows.absences} absences; ${connections} connections, ${rounds} × ${seconds} s, ${workers} workers, seed ${seed}`)
  const load = { seconds, rounds, connections, workers, seed }
  return { date: new Date().toISOString(), command, commit: readCommit(), machine, versions, ...load, rows }
}

function save(results: Results) {
  const folder = resolve(options.output)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, results.date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-'))
  writeFileSync(`${path}.json`, writeJson(results))
  writeFileSync(`${path}.html`, writePage(results))
  console.log(`${path}.html, and .json beside it`)
}

function messageOf(error: unknown): unknown {
  if (error instanceof DataDirInUse) return `error: another run uses ${options.data}; --data names another folder`
  return error instanceof NotPublished || error instanceof UnknownScenario ? `error: ${error.message}` : error
}
