import { openTargets, startBench } from './bench.ts'
import type { Ending } from './children.ts'
import { rowsFor } from './data.ts'
import type { Cluster } from './database.ts'
import type { Options } from './options.ts'
import { rowsOf } from './report/summary.ts'
import type { Curve, ScenarioResult } from './results.ts'
import { type Scenario, scenariosFor } from './scenarios.ts'
import { runScenario } from './suite.ts'

const SCENARIO = 'new-lists'
/** Sizes of the smaller tables, as fractions of the rows of the run. */
const PARTS = [0.01, 0.1]
const ROWS_MIN = 1_000

/** Measures how the cost of new lists grows with the table. `measured`: results of the largest table. */
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
  for (const rows of PARTS.map((part) => Math.round(part * options.rows)).filter((rows) => rows >= ROWS_MIN)) {
    const [scenario] = scenariosFor(rowsFor(rows), [SCENARIO]) as [Scenario]
    const bench = await startBench(cluster, { ...options, rows }, [scenario], ending)
    add(rows, await runScenario(scenario, await openTargets(bench, scenario), options))
    await bench.stop()
  }
  add(options.rows, largest)
  const series = Object.entries(points).map(([label, found]) => ({ label, points: found }))
  return [{ title: `${largest.title}, by the size of the table`, x: 'absences', y: 'requests/s', series }]
}
