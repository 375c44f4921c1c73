import { type Bench, ourTargets, peerTarget, rosterTarget, translate } from './bench.ts'
import { rowsFor } from './data/table.ts'
import { forgetLists } from './forget.ts'
import type { HttpTarget } from './httpTarget.ts'
import { percentileMs } from './latency.ts'
import { type Load, runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import type { Options } from './options.ts'
import type { Curve } from './results.ts'
import { faultOf } from './sample.ts'
import { startServer } from './server.ts'
import { status } from './status.ts'

type Point = readonly [x: number, y: number]
type Series = Curve['series'][number]

interface CurveTarget extends HttpTarget {
  /** What the server has to be asked; null: it cannot do that. */
  ask(operation: Operation): Operation | null
}

const PAGE_SIZE = 20
const DEPTHS = [1, 10, 100, 1_000, 10_000, 20_000]
/** A list is cut into so many parts of equal length. */
const PARTS = 5
const ROWS = [10_000, 100_000, 1_000_000]
const CONNECTIONS = [1, 4, 16, 32, 64, 128]
/** Percent of the most that a server answers. */
const LOADS = [25, 50, 75, 90]

const get = (path: string): Operation => ({ method: 'GET', path, status: 200 })

/** All of them, one after the other. A point whose answers are not as expected is left out, with a line that says so. */
export async function measureCurves(bench: Bench, options: Options): Promise<Curve[]> {
  const [roster, noCache] = ourTargets(bench).map((target) => ({
    ...target,
    ask: (operation: Operation) => operation,
  })) as [CurveTarget, CurveTarget]
  const peers = bench.peers
    .filter(({ isIndexed }) => !isIndexed)
    .map((peer) => ({
      ...peerTarget(peer),
      ask: (operation: Operation) => translate(peer, { operations: [operation] })?.operations[0] ?? null,
    }))
  return [
    await byDepth(bench, options, [roster, noCache, ...peers]),
    await byPart(bench, options, [roster, noCache]),
    await byRows(bench, options),
    ...(await byConnections(bench, options, [roster, ...peers])),
    await byLoad(bench, options),
  ]
}

/** The same page again and again. */
async function byDepth({ database }: Bench, options: Options, targets: readonly CurveTarget[]): Promise<Curve> {
  const last = pagesOf(database.rows.absences)
  const depths = [...DEPTHS.filter((depth) => depth < last), last]
  const series = await eachSeries(targets, depths, async (target, page) => {
    const operation = target.ask(get(`/Absences?page=${page}`))
    // One connection: the cost of a page, and no waiting for those before it.
    return operation && p50(await load('depth', target, operation, { ...options, connections: 1 }))
  })
  const title = 'One page of all absences by its number, one connection'
  return { name: 'depth', title, x: 'page', y: 'p50 in ms', logarithmic: true, series }
}

/** Pages that hardly come twice, as many different ones at every depth. */
async function byPart({ database }: Bench, options: Options, targets: readonly CurveTarget[]): Promise<Curve> {
  const part = Math.floor(pagesOf(database.rows.absences) / PARTS)
  const middles = Array.from({ length: PARTS }, (_, index) => Math.round((index + 0.5) * part))
  const series = await eachSeries(targets, middles, async (target, middle) => {
    const first = Math.max(1, middle - Math.floor(part / 2))
    await forgetLists(database.url)
    const operation = get(`/Absences?page={${first}..${first + Math.max(part, 1) - 1}}`)
    return p50(await load('random pages', target, operation, { ...options, connections: 1 }))
  })
  const title = 'Random pages of one fifth of all absences by their numbers, one connection'
  return { name: 'depthRandom', title, x: 'middle page of the fifth', y: 'p50 in ms', logarithmic: false, series }
}

async function byRows(bench: Bench, options: Options): Promise<Curve> {
  const points: Record<string, Point[]> = {}
  for (const rows of [...ROWS.filter((size) => size < options.rows), options.rows]) {
    const { targets, stop } = await targetsWith(bench, options, rows)
    for (const [label, path] of Object.entries({
      'first page': '/Absences',
      'one by id': `/Absences/{1..${rowsFor(rows).absences}}`,
    }))
      for (const [index, target] of targets.entries()) {
        const measured = await load(`rows ${rows}`, target, get(path), options)
        const name = index === 0 ? label : `${label}, ${target.name}`
        if (measured) (points[name] ??= []).push([rows, rateOf(measured)])
      }
    await stop()
  }
  const series = Object.entries(points).map(([label, found]) => ({ label, points: found }))
  const title = `Requests/s by number of absences, ${options.connections} connections`
  return { name: 'rows', title, x: 'absences', y: 'requests/s', logarithmic: true, series }
}

/** The running servers, or others for another number of rows. */
async function targetsWith(bench: Bench, options: Options, rows: number) {
  if (rows === options.rows) return { targets: ourTargets(bench), stop: async () => undefined }
  status(null)
  const { url: databaseUrl } = await bench.cluster.database(rows)
  const common = { databaseUrl, workers: options.workers }
  const server = await startServer(common)
  const noCache = await startServer({ ...common, listCache: false })
  const stop = async () => void (await Promise.all([server.stop(), noCache.stop()]))
  return { targets: ourTargets({ server, noCache }), stop }
}

async function byConnections(bench: Bench, options: Options, targets: readonly CurveTarget[]): Promise<Curve[]> {
  const path = `/Absences/{1..${bench.database.rows.absences}}`
  const late: Record<string, Point[]> = {}
  const series = await eachSeries(targets, CONNECTIONS, async (target, connections) => {
    const operation = target.ask(get(path))
    const measured = operation && (await load('connections', target, operation, { ...options, connections }))
    if (!measured) return null
    ;(late[target.name] ??= []).push([connections, round(percentileMs(measured.buckets, 99))])
    return rateOf(measured)
  })
  const common = { x: 'connections', logarithmic: true }
  const lateSeries = Object.entries(late).map(([label, points]) => ({ label, points }))
  return [
    { ...common, name: 'connections', title: 'One absence by id: requests/s', y: 'requests/s', series },
    { ...common, name: 'connectionsP99', title: 'One absence by id: p99', y: 'p99 in ms', series: lateSeries },
  ]
}

async function byLoad(bench: Bench, options: Options): Promise<Curve> {
  const { absences, employees, companies } = bench.database.rows
  const operations = {
    'one by id': get(`/Absences/{1..${absences}}`),
    'absences of an employee': get(`/Absences?EmployeeId={1..${employees}}`),
    'employees of a company': get(`/Employees?CompanyId={1..${companies}}`),
  }
  const target = rosterTarget(bench)
  const series: Series[] = []
  for (const [label, operation] of Object.entries(operations)) {
    const most = await load('load', target, operation, options)
    if (!most) continue
    const found = await eachLoad(target, operation, options, rateOf(most))
    for (const percentile of [50, 99] as const)
      series.push({ label: `${label}, p${percentile}`, points: found.map(({ part, ms }) => [part, ms[percentile]]) })
    const half = found.find(({ part }) => part === 50)?.ms
    if (half)
      console.log(`half load: ${label}: p50 ${half[50]} ms, p99 ${half[99]} ms, ${round(half[99] / half[50])} ×`)
  }
  const title = 'Latency by load, in percent of the most requests/s that the server answers'
  return { name: 'halfLoad', title, x: 'percent of the highest load', y: 'ms', logarithmic: false, series }
}

async function eachLoad(target: HttpTarget, operation: Operation, options: Options, most: number) {
  const found: { part: number; ms: { 50: number; 99: number } }[] = []
  for (const part of LOADS) {
    const measured = await load('load', target, operation, options, Math.max(1, Math.round((most * part) / 100)))
    if (!measured) continue
    const { buckets } = measured
    found.push({ part, ms: { 50: round(percentileMs(buckets, 50)), 99: round(percentileMs(buckets, 99)) } })
  }
  return found
}

/** A series for each target that can do it. */
async function eachSeries(
  targets: readonly CurveTarget[],
  xs: readonly number[],
  measure: (target: CurveTarget, x: number) => Promise<number | null>,
): Promise<Series[]> {
  const points: Record<string, Point[]> = {}
  // Targets take turns, so that what the machine does meanwhile meets all of them.
  for (const x of xs)
    for (const target of targets) {
      const y = await measure(target, x)
      if (y !== null) (points[target.name] ??= []).push([x, y])
    }
  return Object.entries(points).map(([label, found]) => ({ label, points: found }))
}

/** Null: it does not count. */
async function load(
  curve: string,
  { name, url, headers }: HttpTarget,
  operation: Operation,
  { connections, seconds }: Options,
  rate: number | null = null,
): Promise<Load | null> {
  status(`curve: ${curve}, ${name}, ${operation.path}, ${connections} connections`)
  const leadInSeconds = Math.min(1, seconds / 4)
  const measured = await runLoad({ url, headers, operations: [operation], connections, seconds, leadInSeconds, rate })
  status(null)
  const fault = faultOf(measured)
  if (fault) console.log(`VOID: curve ${curve}, ${name}, ${operation.path}: ${fault}`)
  return fault ? null : measured
}

function pagesOf(absences: number): number {
  return Math.ceil(absences / PAGE_SIZE)
}

function p50(measured: Load | null): number | null {
  return measured && round(percentileMs(measured.buckets, 50))
}

function rateOf({ requests, seconds }: Load): number {
  return Math.round(requests / seconds)
}

function round(value: number): number {
  return Number(value.toFixed(3))
}
