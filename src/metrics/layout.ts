import { type MetricName, metrics } from './declared.ts'
import { METHODS, type Metric, NO_ROUTE, OWN_ROUTE, STATUSES } from './metric.ts'

/** Where the values of a metric lie among the cells of a process. */
export interface Place {
  readonly first: number
  /** The labels of each of its series, in order. */
  readonly series: readonly Readonly<Record<string, string>>[]
  /** Cells of one series: a histogram has one for each bucket, the last without an end, and then the sum. */
  readonly each: number
}

const places = new Map<MetricName, Place>()
let next = 0
for (const [name, metric] of Object.entries<Metric>(metrics)) {
  // The routes are known later, so these lie behind all others.
  if (metric.from === 'supervisor' || name === 'requests') continue
  const series = seriesOf(metric.labels as Record<string, readonly string[]>)
  const each = metric.bounds ? metric.bounds.length + 2 : 1
  places.set(name as MetricName, { first: next, series, each })
  next += series.length * each
}

/** Cells before those of requests. */
const FIXED_CELLS = next
/** The routes' places come in the order in which the routes were given; those of none of these come first. */
const CELLS_OF_ROUTE = METHODS.length * STATUSES.length
const OTHER_ROUTES = [NO_ROUTE, OWN_ROUTE]
/** For `routeCell`. */
export const [NO_ROUTE_INDEX, OWN_ROUTE_INDEX] = [-2, -1] as const

export function placeOf(name: Exclude<MetricName, 'requests'>): Place {
  const place = places.get(name)
  if (place === undefined) throw new Error(`no process counts ${name}`)
  return place
}

/** The place of the requests of these routes. */
export function requestsPlace(routes: readonly string[]): Place {
  const series = seriesOf({ route: [...OTHER_ROUTES, ...routes], method: METHODS, status: STATUSES })
  return { first: FIXED_CELLS, series, each: 1 }
}

export function cellsOf(routes: readonly string[]): number {
  return FIXED_CELLS + (OTHER_ROUTES.length + routes.length) * CELLS_OF_ROUTE
}

/** The first cell of a route; `index`: its place among the routes, or one of the two above. */
export function routeCell(index: number): number {
  return FIXED_CELLS + (OTHER_ROUTES.length + index) * CELLS_OF_ROUTE
}

/** What the cells mean: processes of another version of the program may have others. */
export function formatOf(routes: readonly string[]): string {
  return Bun.hash.xxHash3(JSON.stringify([metrics, routes])).toString(16)
}

/** Every combination of the labels' values; the last label changes fastest. */
function seriesOf(labels: Readonly<Record<string, readonly string[]>>): Record<string, string>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (found, [label, values]) => found.flatMap((own) => values.map((value) => ({ ...own, [label]: value }))),
    [{}],
  )
}
