// Counters, gauges and histograms of one process. In sums.ts, the supervisor adds up the values of all workers.
import { type KindOfRequest, type KindOfStatement, type Metric, type MetricName, metrics, type Sample } from './declared.ts'

export type Samples = Partial<Record<MetricName, readonly Sample[]>>

/**
 * One series of a metric. `values`: a single number; for a histogram, the count of each bucket, then the sum of the observed
 * values. The last bucket has no upper bound.
 */
export interface Series extends Sample {
  readonly values: number[]
}

const seriesByMetric = new Map<MetricName, Map<string, Series>>()
let writeGauges: () => void = () => undefined

/**
 * Returns the metric's series whose labels have these values. The values are in the order of the labels. A new series appears in
 * samples with the value 0.
 */
export function seriesOf(name: MetricName, ...values: string[]): Series {
  const series = seriesByMetric.getOrInsertComputed(name, () => new Map())
  return series.getOrInsertComputed(values.join(' '), () => {
    const { labels, bounds = [] }: Metric = metrics[name]
    const texts = Object.fromEntries(Object.keys(labels).map((label, index) => [label, values[index] as string]))
    return { labels: texts, values: new Array<number>(bounds.length === 0 ? 1 : bounds.length + 2).fill(0) }
  })
}

export function readSamples(): Samples {
  writeGauges()
  return Object.fromEntries([...seriesByMetric].map(([name, series]) => [name, [...series.values()]]))
}

/** Sets the function that updates the gauges before samples are read. */
export function setGauges(write: () => void): void {
  writeGauges = write
}

export function count({ values }: Series, by = 1): void {
  ;(values[0] as number) += by
}

/** Returns a function that counts lists or summaries by the origin of their answers. */
function countFrom(name: 'lists' | 'summaries'): (from: (typeof metrics.lists.labels.from)[number]) => void {
  const own = byKind(name, metrics[name].labels.from)
  return (from) => count(own[from])
}

const countListFrom = countFrom('lists')
const countSummaryFrom = countFrom('summaries')
const memoryLists = byKind('memoryLists', metrics.memoryLists.labels.way)
const databaseLists = byKind('databaseLists', metrics.databaseLists.labels.reason)
const databaseSummaries = byKind('databaseSummaries', metrics.databaseSummaries.labels.reason)

export function countKeptList(): void {
  countListFrom('kept')
}

/** Counts a list from memory by the way in which its rows were found. */
export function countMemoryList(way: (typeof metrics.memoryLists.labels.way)[number]): void {
  countListFrom('memory')
  count(memoryLists[way])
}

/** Counts a list from the database by the reason why memory could not answer it. */
export function countDatabaseList(reason: (typeof metrics.databaseLists.labels.reason)[number]): void {
  countListFrom('database')
  count(databaseLists[reason])
}

/** Counts a summary that was computed in memory, or whose answer was kept from an equal request. */
export function countSummary(from: 'kept' | 'memory'): void {
  countSummaryFrom(from)
}

/** Counts a summary from the database by the reason why memory could not answer it. */
export function countDatabaseSummary(reason: (typeof metrics.databaseSummaries.labels.reason)[number]): void {
  countSummaryFrom('database')
  count(databaseSummaries[reason])
}

export function gauge({ values }: Series, value: number): void {
  values[0] = value
}

function observe({ values }: Series, bounds: readonly number[], seconds: number): void {
  let bucket = 0
  while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
  ;(values[bucket] as number) += 1
  ;(values[bounds.length + 1] as number) += seconds
}

function byKind<Kind extends string>(name: MetricName, kinds: readonly Kind[]): Record<Kind, Series> {
  return Object.fromEntries(kinds.map((kind) => [kind, seriesOf(name, kind)])) as Record<Kind, Series>
}

const methods: ReadonlySet<string> = new Set(metrics.requests.labels.method)
const requestSeconds = byKind('requestSeconds', metrics.requestSeconds.labels.kind)
const statementSeconds = byKind('statementSeconds', metrics.statementSeconds.labels.kind)
export const failureSeries = byKind('failures', metrics.failures.labels.kind)

/** Counts an answered request. `route`: the pattern of its route; null if no route matched. */
export function countRequest(route: string | null, method: string, status: number, kind: KindOfRequest, ms: number): void {
  count(requestSeriesOf(route ?? 'none', methods.has(method) ? method : 'other', status))
  observe(requestSeconds[kind], metrics.requestSeconds.bounds, ms / 1_000)
}

/**
 * Series by route, by method and by status. The maps are nested, because a single map would need a combined map key, built for
 * each request.
 */
const requestSeries = new Map<string, Map<string, Series[]>>()

function requestSeriesOf(route: string, method: string, status: number): Series {
  const ofRoute = requestSeries.getOrInsertComputed(route, () => new Map())
  const ofMethod = ofRoute.getOrInsertComputed(method, () => [])
  ofMethod[status] ??= seriesOf('requests', route, method, String(status))
  return ofMethod[status]
}

const charges = {
  address: [seriesOf('limited', 'address', 'admitted'), seriesOf('limited', 'address', 'refused')],
  key: [seriesOf('limited', 'key', 'admitted'), seriesOf('limited', 'key', 'refused')],
  person: [seriesOf('limited', 'person', 'admitted'), seriesOf('limited', 'person', 'refused')],
} as const

/** Kinds of clients whose requests are charged. */
export type ChargedClient = keyof typeof charges

export function countCharge(charged: ChargedClient, isAdmitted: boolean): void {
  count(charges[charged][isAdmitted ? 0 : 1])
}

export function countStatement(kind: KindOfStatement, ms: number): void {
  observe(statementSeconds[kind], metrics.statementSeconds.bounds, ms / 1_000)
}

const delays = seriesOf('delays')

export function countDelay(ms: number): void {
  observe(delays, metrics.delays.bounds, ms / 1_000)
}
