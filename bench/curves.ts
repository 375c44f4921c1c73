import { type Bench, peerTarget, translate } from './bench.ts'
import { status } from './ending.ts'
import { percentileMs } from './latency.ts'
import { type Load, runLoad } from './load.ts'
import type { Options } from './options.ts'
import type { Curve } from './results.ts'
import { faultOf } from './sample.ts'
import type { Operation } from './scenarios.ts'
import type { HttpTarget } from './targets.ts'

const DEPTHS = [1, 10, 100, 1_000, 10_000, 20_000]
const PAGE_SIZE = 20
const CONNECTIONS = [1, 4, 16, 32, 64, 128]

interface CurveTarget extends HttpTarget {
  /** What the server has to be asked; null: it cannot do that. */
  ask(operation: Operation): Operation | null
}

/** Cost by depth and by connections. A point whose answers are not as expected is left out, with a line that says so. */
export async function measureCurves({ ours, peers, database }: Bench, options: Options): Promise<Curve[]> {
  const targets: CurveTarget[] = [
    ...ours.map((target) => ({ ...target, ask: (operation: Operation) => operation })),
    ...peers
      .filter(({ isIndexed }) => !isIndexed)
      .map((peer) => ({
        ...peerTarget(peer),
        ask: (operation: Operation) => translate(peer, { operations: [operation] })?.operations[0] ?? null,
      })),
  ]
  const { absences } = database.rows
  const depths = DEPTHS.filter((depth) => depth * PAGE_SIZE <= absences)
  return [
    {
      title: 'One page of all absences by its number, over one connection',
      ...{ x: 'page', y: 'p50 in ms' },
      series: await seriesOf(targets, depths, async (target, page) => {
        const measured = await load(target, `/Absences?page=${page}`, { ...options, connections: 1 })
        return measured && Number(percentileMs(measured.buckets, 50).toFixed(3))
      }),
    },
    {
      title: 'One absence by a random id',
      ...{ x: 'connections', y: 'requests/s' },
      series: await seriesOf(targets, CONNECTIONS, async (target, connections) => {
        const measured = await load(target, `/Absences/{1..${absences}}`, { ...options, connections })
        return measured && Math.round(measured.requests / measured.seconds)
      }),
    },
  ]
}

/** A series for each target that can do it. Targets take turns, so that what the machine does meanwhile meets all of them. */
async function seriesOf(
  targets: readonly CurveTarget[],
  xs: readonly number[],
  measure: (target: CurveTarget, x: number) => Promise<number | null>,
): Promise<Curve['series']> {
  const points: Record<string, [x: number, y: number][]> = {}
  for (const x of xs)
    for (const target of targets) {
      const y = await measure(target, x)
      if (y !== null) (points[target.name] ??= []).push([x, y])
    }
  return Object.entries(points).map(([label, found]) => ({ label, points: found }))
}

/** Null: it does not count. */
async function load(target: CurveTarget, path: string, { connections, seconds }: Options): Promise<Load | null> {
  const operation = target.ask({ method: 'GET', path, status: 200 })
  if (!operation) return null
  status(`curve: ${target.name}, ${path}, ${connections} connections`)
  const { urls, headers } = target
  const leadInSeconds = Math.min(1, seconds / 4)
  const measured = await runLoad({
    url: urls[0] as string,
    headers,
    operations: [operation],
    connections,
    seconds,
    leadInSeconds,
  })
  status(null)
  const fault = faultOf(measured)
  if (fault) console.log(`VOID: curve, ${target.name}, ${path}: ${fault}`)
  return fault ? null : measured
}
