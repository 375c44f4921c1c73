// Measures the server, the floors beneath it, and others like it: `npm run bench`, `npm run bench -- --help`.
// Figures of one run compare with each other; the machine's noise is larger than most differences between runs.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DataDirInUse } from '../src/postgres/embedded.ts'
import { type Bench, checkBench, openTargets, rosterTarget, type Started, startBench, warmUp } from './bench.ts'
import { stopChildren } from './children.ts'
import { measureCurves } from './curves.ts'
import { restore } from './data/restore.ts'
import { rowsFor } from './data/table.ts'
import { forgetLists } from './forget.ts'
import { followLinks } from './links.ts'
import { describeMachine, readCommit, readVersions } from './machine.ts'
import { type Options, readOptions, WRONG_USAGE } from './options.ts'
import { peerNames } from './peers.ts'
import { publish } from './publish.ts'
import { NotPublished } from './publishedTables.ts'
import { formatColumns } from './report/columns.ts'
import { writeJson } from './report/json.ts'
import { writePage } from './report/page.ts'
import { ratiosAmong } from './report/ratios.ts'
import { type Curve, fileNameOf, type Results, type ScenarioResult } from './results.ts'
import { type Scenario, scenariosFor, UnknownScenario } from './scenarios.ts'
import { serve } from './serve.ts'
import { status } from './status.ts'
import { runScenario } from './suite.ts'
import { formatHead, formatScenario } from './table.ts'

const ROOT = join(import.meta.dir, '..')
const options = readOptions(process.argv.slice(2), peerNames)
const chosen = chooseScenarios(options)
const started: Started = []
let isStopping = false

process.on('SIGINT', interrupt)
process.on('SIGTERM', interrupt)
try {
  if (options.publish !== null) publish(options.publish, ROOT)
  else if (options.serve) await serve(options, started)
  else await run(await startBench(options, chosen, started))
} catch (error) {
  // What an interruption breaks is no fault.
  if (!isStopping) console.error(messageOf(error))
  process.exitCode = 1
}
if (!isStopping) await stop()

async function run(bench: Bench) {
  const results = await describeRun(bench)
  status('checking answers')
  const scenarios: Scenario[] = []
  for (const scenario of chosen) scenarios.push(await followLinks(rosterTarget(bench), scenario))
  await checkBench(bench, scenarios)
  status('warming up')
  await warmUp(bench, scenarios, options)
  const ratios = ratiosAmong(['no-cache', 'constant', 'bare', 'uncounted', bench.sqlFloor])
  status(null)
  console.log(formatHead(ratios))
  const measured: ScenarioResult[] = []
  for (const scenario of scenarios) {
    const result = await measure(bench, scenario)
    measured.push(result)
    console.log(formatScenario(results, result, ratios))
  }
  const curves: Curve[] = options.curves ? await measureCurves(bench, options) : []
  if (bench.columns) console.log(formatColumns(bench.columns, bench.database.rows))
  save({ ...results, scenarios: measured, curves, ...(bench.columns ? { columns: bench.columns } : {}) })
}

async function measure(bench: Bench, scenario: Scenario): Promise<ScenarioResult> {
  const targets = await openTargets(bench, scenario)
  try {
    return await runScenario(scenario, targets, {
      ...options,
      restore: async ({ isIndexed }) => {
        const { url, rows } = (isIndexed && bench.indexed) || bench.database
        await restore(url, rows)
      },
      forget: () => forgetLists(bench.database.url),
      onRound: (target, round) => status(`${scenario.name}: ${target}, round ${round} of ${options.rounds}`),
    })
  } finally {
    status(null)
    for (const target of targets) await target.stop()
  }
}

async function describeRun({ database, server, peers }: Bench): Promise<Results> {
  const { seconds, rounds, connections, workers, seed } = options
  const versions = await readVersions(database.url)
  for (const peer of peers.filter(({ isIndexed }) => !isIndexed)) versions[peer.name] = peer.version
  const machine = describeMachine()
  const head = {
    machine,
    versions,
    seconds,
    rounds,
    connections,
    workers: server.workerPids().length || workers,
    seed,
  }
  const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ')
  const named = { date: new Date().toISOString(), command, commit: readCommit(), rows: database.rows }
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.os}; ${server.url}`)
  console.log(
    `${database.rows.absences} absences; ${connections} connections, ${rounds} × ${seconds} s, ${head.workers} workers, log level warn, seed ${seed}`,
  )
  return { ...named, ...head, scenarios: [], curves: [] }
}

function save(results: Results) {
  const folder = resolve(options.output)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, fileNameOf(results))
  writeFileSync(`${path}.json`, writeJson(results))
  writeFileSync(`${path}.html`, writePage(results))
  console.log(`${path}.html, and .json beside it`)
}

function messageOf(error: unknown): unknown {
  if (error instanceof DataDirInUse) return `error: another run uses ${options.data}; --data names another folder`
  return error instanceof NotPublished ? `error: ${error.message}` : error
}

function chooseScenarios({ rows, only, quick }: Options): Scenario[] {
  try {
    return scenariosFor(rowsFor(rows), only, quick)
  } catch (error) {
    if (!(error instanceof UnknownScenario)) throw error
    console.error(`error: ${error.message}`)
    process.exit(WRONG_USAGE)
  }
}

async function interrupt() {
  if (isStopping) process.exit(130) // PostgreSQL ends with this process
  isStopping = true
  await stop()
  process.exit(130)
}

async function stop() {
  status(null)
  const [cluster, ...others] = started
  // Peers and the server among them.
  await stopChildren()
  for (const { stop } of others.toReversed()) await stop()
  await cluster?.stop()
}
