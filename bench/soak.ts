import { type Bench, rosterTarget } from './bench.ts'
import { rssMb } from './cpu.ts'
import { restore } from './data/restore.ts'
import { runLoad } from './load.ts'
import type { Options } from './options.ts'
import type { Curve } from './results.ts'
import { faultOf } from './sample.ts'
import { type Scenario, scenariosFor } from './scenarios.ts'
import { status } from './status.ts'

const SAMPLE_MS = 5_000

/** Memory of each worker while the CRUD mix runs for some minutes. @throws Error when an answer is not as expected */
export async function soak(bench: Bench, { connections }: Options, minutes: number): Promise<Curve> {
  const { database, server } = bench
  const [mix] = scenariosFor(database.rows, ['crud-mix']) as [Scenario]
  const workers = new Map(server.workerPids().map((pid) => [pid, [] as [number, number][]]))
  const startMs = performance.now()
  const look = () => {
    const minute = (performance.now() - startMs) / 60_000
    status(`soak: minute ${minute.toFixed(1)} of ${minutes}`)
    for (const [pid, points] of workers) {
      const mb = rssMb(pid)
      if (mb !== null) points.push([Number(minute.toFixed(2)), Number(mb.toFixed(1))])
    }
  }
  look()
  const timer = setInterval(look, SAMPLE_MS)
  const { url, headers } = rosterTarget(bench)
  const load = await runLoad({ url, headers, operations: mix.operations, connections, seconds: minutes * 60 }).finally(
    () => clearInterval(timer),
  )
  look()
  status(null)
  await restore(database.url, database.rows)
  const fault = faultOf(load)
  if (fault) throw new Error(`soak: ${fault}`)
  const series = [...workers].map(([pid, points]) => ({ label: `worker ${pid}`, points }))
  for (const { label, points } of series) console.log(`soak: ${label}: ${describe(points)}`)
  const title = `Memory of each worker under the CRUD mix, ${load.requests.toLocaleString('en')} requests`
  return { name: 'soak', title, x: 'minutes', y: 'RSS in MB', logarithmic: false, series }
}

function describe(points: readonly (readonly [minute: number, mb: number])[]): string {
  const at = (part: number) => points[Math.round(part * (points.length - 1))]?.[1]
  const most = Math.max(...points.map(([, mb]) => mb))
  return `${at(0)} MB at first, ${at(0.5)} MB half-way, ${at(1)} MB at the end, ${most} MB at most`
}
