/** A metric, as a scrape says it. */
export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The values of each label; null: they are known when the server runs. */
  readonly labels: Readonly<Record<string, readonly string[] | null>>
  /** Of a histogram: the upper ends of its buckets, in seconds. */
  readonly bounds?: readonly number[]
  /** The workers' values, summed, or the greatest of them, or each with the label `worker`; or the supervisor's own. */
  readonly from: 'sum' | 'greatest' | 'each' | 'supervisor'
}

/** A series of a metric: its labels, and its value, or a histogram's counts by bucket and the sum of its observations. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly number[]
}

export const KINDS_OF_REQUEST = ['list', 'stream', 'row', 'write', 'changes', 'other'] as const
export const KINDS_OF_STATEMENT = ['read', 'write', 'list', 'longWrite'] as const

/** Methods and statuses that have a series of their own; all others share the last one. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const
export const STATUSES = [
  ...['200', '201', '204', '304', '400', '401', '403', '404', '405', '408', '409', '410', '412', '413', '414', '415'],
  ...['422', '428', '429', '431', '500', '501', '503', 'other'],
] as const
/** The route of a request whose path leads nowhere. */
export const NO_ROUTE = 'none'

export type KindOfRequest = (typeof KINDS_OF_REQUEST)[number]
export type KindOfStatement = (typeof KINDS_OF_STATEMENT)[number]
