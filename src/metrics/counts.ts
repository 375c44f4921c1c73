import {
  type KindOfRequest,
  type KindOfStatement,
  METHODS,
  type Metric,
  type MetricName,
  metrics,
  NO_ROUTE,
  type Sample,
  STATUSES,
} from './declared.ts'

export type Samples = Partial<Record<MetricName, readonly Sample[]>>

/** One cell of a metric of the workers, for `count` and `gauge`. */
export type Cell = number

type Counted = Exclude<MetricName, 'requests'>

/** One number a cell. A histogram has one cell for each bucket, the last bucket without an end, and one for the sum. */
const cells: number[] = []
const seriesByMetric = new Map<Counted, { labels: Sample['labels']; first: Cell; length: number }[]>()
for (const [name, metric] of Object.entries<Metric>(metrics)) {
  if (metric.from === 'supervisor' || name === 'requests') continue
  const length = metric.bounds ? metric.bounds.length + 2 : 1
  const labels = combinationsOf(metric.labels as Record<string, readonly string[]>)
  seriesByMetric.set(
    name as Counted,
    labels.map((own) => ({ labels: own, first: claim(length), length })),
  )
}
const requestsByRoute = new Map<string, Float64Array>()
let writeGauges: () => void = () => undefined

/** Counters and gauges of this process. Routes, methods and statuses without a request are left out. */
export function readSamples(): Samples {
  writeGauges()
  const samples: Partial<Record<MetricName, Sample[]>> = { requests: requestSamples() }
  for (const [name, series] of seriesByMetric)
    samples[name] = series.map(({ labels, first, length }) => ({ labels, values: cells.slice(first, first + length) }))
  return samples
}

/** From now on `write` sets the gauges each time that samples are read. */
export function setGauges(write: () => void): void {
  writeGauges = write
}

/** The cell of a metric without buckets, by the values of its labels in their order. */
export function cellOf(name: Counted, ...values: string[]): Cell {
  const found = seriesByMetric.get(name)?.find(({ labels }) => Object.values(labels).every((value, at) => value === values[at]))
  if (found === undefined) throw new Error(`${name} has no series ${values.join(', ')}`)
  return found.first
}

export function count(cell: Cell, by = 1): void {
  ;(cells[cell] as number) += by
}

/** A counter of answers by where they came from. */
export function countFrom(name: 'lists' | 'summaries'): (from: (typeof metrics.lists.labels.from)[number]) => void {
  const own = Object.fromEntries(metrics[name].labels.from.map((from) => [from, cellOf(name, from)]))
  return (from) => count(own[from] as Cell)
}

export function gauge(cell: Cell, value: number): void {
  cells[cell] = value
}

interface Histogram {
  readonly first: Cell
  readonly bounds: readonly number[]
}

function histogramOf(name: 'requestSeconds' | 'statementSeconds' | 'delays', ...values: string[]): Histogram {
  return { first: cellOf(name, ...values), bounds: metrics[name].bounds }
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
export const failureCells = byKind(metrics.failures.labels.kind, (kind) => cellOf('failures', kind))

/** Counts a request that was answered. `route`: its pattern; null: its path leads nowhere. */
export function countRequest(route: string | null, method: string, status: number, kind: KindOfRequest, ms: number): void {
  const name = route ?? NO_ROUTE
  let requests = requestsByRoute.get(name)
  if (requests === undefined) {
    requests = new Float64Array(METHODS.length * STATUSES.length)
    requestsByRoute.set(name, requests)
  }
  const methodNumber = methodNumbers.get(method) ?? OTHER_METHOD
  ;(requests[methodNumber * STATUSES.length + (statusNumbers[status] as number)] as number) += 1
  observe(requestSeconds[kind], ms / 1_000)
}

const charges = {
  address: [cellOf('limited', 'address', 'refused'), cellOf('limited', 'address', 'admitted')],
  key: [cellOf('limited', 'key', 'refused'), cellOf('limited', 'key', 'admitted')],
} as const

/** Counts a request that was charged to its key or its address. */
export function countCharge(charged: 'key' | 'address', isAdmitted: boolean): void {
  ;(cells[charges[charged][isAdmitted ? 1 : 0]] as number) += 1
}

export function countStatement(kind: KindOfStatement, ms: number): void {
  observe(statementSeconds[kind], ms / 1_000)
}

/** Counts the delay of a timer. */
export function countDelay(ms: number): void {
  observe(delays, ms / 1_000)
}

function requestSamples(): Sample[] {
  return [...requestsByRoute].flatMap(([route, requests]) =>
    Array.from(requests, (value, index) => ({ value, index }))
      .filter(({ value }) => value > 0)
      .map(({ value, index }) => ({ labels: labelsOf(route, index), values: [value] })),
  )
}

function labelsOf(route: string, index: number): Sample['labels'] {
  const method = METHODS[Math.floor(index / STATUSES.length)] as string
  return { route, method, status: STATUSES[index % STATUSES.length] as string }
}

function claim(length: number): Cell {
  return cells.push(...new Array<number>(length).fill(0)) - length
}

function byKind<Kind extends string, T>(kinds: readonly Kind[], make: (kind: Kind) => T): Record<Kind, T> {
  return Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<Kind, T>
}

/** Every combination of the labels' values; the last label changes fastest. */
function combinationsOf(labels: Readonly<Record<string, readonly string[]>>): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (found, [label, values]) => found.flatMap((own) => values.map((value) => ({ ...own, [label]: value }))),
    [{}],
  )
}
