import { openTargets, startBench } from './bench.ts'
import { type Ending, status } from './children.ts'
import { rowsFor } from './data.ts'
import type { Cluster } from './database.ts'
import type { Options } from './options.ts'
import { rowsOf } from './report/summary.ts'
import type { Curve, ScenarioResult } from './results.ts'
import { scenariosFor } from './scenarios.ts'
import { runScenario } from './suite.ts'

const SCENARIO = 'new-lists'
/** Smaller tables have these parts of the run's rows. */
const PARTS = [0.01, 0.1]
const ROWS_MIN = 1_000

/** Measures how cost grows with the table: lists never asked before on smaller tables too. `measured` has the largest one. */
export async function measureCurves(
  cluster: Cluster,
  options: Options,
  ending: Ending,
  measured: readonly ScenarioResult[],
): Promise<Curve[]> {
  const largest = measured.find(({ name }) => name === SCENARIO)
  if (!largest) return []
  const points: Record<string, [absences: number, rate: number][]> = {}
  const add = (absences: number, result: ScenarioResult) => {
    for (const { target, requestsPerSecond, void: reason } of rowsOf(result))
      if (requestsPerSecond && !reason) (points[target] ??= []).push([absences, requestsPerSecond.middle])
  }
  for (const rows of PARTS.map((part) => Math.round(part * options.rows)).filter((rows) => rows >= ROWS_MIN))
    add(rows, await measure(rows))
  add(options.rows, largest)
  const series = Object.entries(points).map(([label, found]) => ({ label, points: found }))
  return [{ title: `${largest.title}, by the size of the table`, x: 'absences', y: 'requests/s', series }]

  async function measure(rows: number): Promise<ScenarioResult> {
    const scenarios = scenariosFor(rowsFor(rows), [SCENARIO])
    const [scenario] = scenarios as [(typeof scenarios)[number]]
    const bench = await startBench(cluster, { ...options, rows }, scenarios, ending)
    const targets = await openTargets(bench, scenario)
    const onRound = (target: string) => status(`curve: ${target}, ${rows} absences`)
    const result = await runScenario(scenario, targets, { ...options, onRound })
    status(null)
    for (const target of targets) await target.stop()
    await bench.stop()
    return result
  }
}
