import { HEADER_WORDS, openRegion } from '../os/region.ts'
import { type MetricName, metrics } from './declared.ts'
import { cellsOf, formatOf, NO_ROUTE_INDEX, OWN_ROUTE_INDEX, placeOf, routeCell } from './layout.ts'
import { type KindOfRequest, type KindOfStatement, METHODS, type Metric, STATUSES } from './metric.ts'

/** Where a process counts so that others can read it. */
export interface CountsAccess {
  readonly path: string
  readonly part: number
  readonly routes: readonly string[]
  readonly format: string
}

/**
 * What this process has counted: one number a cell, which no other process writes, so that a plain addition is enough. A
 * number of 64 bits is written in one piece, and is exact up to 2^53.
 */
let cells: Float64Array = new Float64Array(cellsOf([]))
let routeNumbers = new Map<string, number>()

/**
 * From now on counts go to this part of mapped memory, on top of what a process before has counted there. Null, and where
 * the memory is that of another version of the program: nowhere but in this process. False in the latter case.
 */
export function shareCounts(access: CountsAccess | null): boolean {
  if (access === null) return true
  if (access.format !== formatOf(access.routes)) return false
  const { words } = openRegion(access.path)
  const size = cellsOf(access.routes)
  cells = partOf(words, access.part, size)
  routeNumbers = new Map(access.routes.map((route, index) => [route, index]))
  return true
}

/** A part of mapped memory, as numbers. */
export function partOf(words: Int32Array, part: number, size: number): Float64Array {
  return new Float64Array(words.buffer, words.byteOffset + 4 * HEADER_WORDS + 8 * part * size, size)
}

/** One cell of a metric of the workers, for `count` and `gauge`. */
export type Cell = number

/** The cell of a metric without buckets, by the values of its labels in their order. */
export function cellOf(name: Exclude<MetricName, 'requests'>, ...values: string[]): Cell {
  const { first, series, each } = placeOf(name)
  const index = series.findIndex((labels) => Object.values(labels).every((value, at) => value === values[at]))
  if (index === -1) throw new Error(`${name} has no series ${values.join(', ')}`)
  return first + index * each
}

export function count(cell: Cell, by = 1): void {
  ;(cells[cell] as number) += by
}

export function gauge(cell: Cell, value: number): void {
  cells[cell] = value
}

/** A series of a histogram. */
interface Histogram {
  readonly first: Cell
  readonly bounds: readonly number[]
}

function histogramOf(name: 'requestSeconds' | 'statementSeconds' | 'delays', ...values: string[]): Histogram {
  return { first: cellOf(name, ...values), bounds: (metrics[name] as Metric).bounds as readonly number[] }
}

function observe({ first, bounds }: Histogram, seconds: number): void {
  let bucket = 0
  while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
  ;(cells[first + bucket] as number) += 1
  ;(cells[first + bounds.length + 1] as number) += seconds
}

const methodNumbers = new Map<string, number>(METHODS.map((method, index) => [method, index]))
const OTHER_METHOD = METHODS.length - 1
const statusNumbers = new Uint8Array(1_000).fill(STATUSES.length - 1)
STATUSES.forEach((status, index) => {
  if (status !== 'other') statusNumbers[Number(status)] = index
})
const requestSeconds = byKind(metrics.requestSeconds.labels.kind, (kind) => histogramOf('requestSeconds', kind))
const statementSeconds = byKind(metrics.statementSeconds.labels.kind, (kind) => histogramOf('statementSeconds', kind))
const delays = histogramOf('delays')
/** Statements of each kind that have failed. */
export const failureCells = byKind(metrics.failures.labels.kind, (kind) => cellOf('failures', kind))

/** Counts a request that was answered. `route`: null, where its path leads nowhere; one that is not known is of a project's own. */
export function countRequest(
  route: string | null,
  method: string,
  status: number,
  kind: KindOfRequest,
  ms: number,
): void {
  const routeNumber = route === null ? NO_ROUTE_INDEX : (routeNumbers.get(route) ?? OWN_ROUTE_INDEX)
  const methodNumber = methodNumbers.get(method) ?? OTHER_METHOD
  const cell = routeCell(routeNumber) + methodNumber * STATUSES.length + (statusNumbers[status] as number)
  ;(cells[cell] as number) += 1
  observe(requestSeconds[kind], ms / 1_000)
}

const charges = {
  address: [cellOf('limited', 'address', 'refused'), cellOf('limited', 'address', 'admitted')],
  key: [cellOf('limited', 'key', 'refused'), cellOf('limited', 'key', 'admitted')],
} as const

/** Counts a request that was charged, to its key or to its address. */
export function countCharge(charged: 'key' | 'address', isAdmitted: boolean): void {
  ;(cells[charges[charged][isAdmitted ? 1 : 0]] as number) += 1
}

/** Counts a statement that was answered. */
export function countStatement(kind: KindOfStatement, ms: number): void {
  observe(statementSeconds[kind], ms / 1_000)
}

/** Counts how late a timer was. */
export function countDelay(ms: number): void {
  observe(delays, ms / 1_000)
}

function byKind<Kind extends string, T>(kinds: readonly Kind[], make: (kind: Kind) => T): Record<Kind, T> {
  return Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<Kind, T>
}
