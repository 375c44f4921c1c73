/** A metric, as a scrape says it. */
export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The values of each label; null: they are known when the server runs. */
  readonly labels: Readonly<Record<string, readonly string[] | null>>
  /** Of a histogram: the upper ends of its buckets, in seconds. */
  readonly bounds?: readonly number[]
  /**
   * Where its values come from: the workers' counts, summed, or the greatest of them, or each with the label `worker`; or the
   * supervisor, which has them itself.
   */
  readonly from: 'sum' | 'greatest' | 'each' | 'supervisor'
}

export const KINDS_OF_REQUEST = ['list', 'stream', 'row', 'write', 'changes', 'other'] as const
export const KINDS_OF_STATEMENT = ['read', 'write', 'list', 'longWrite', 'standby'] as const

/** Methods and statuses that have a value of their own; all others share the last one. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const
export const STATUSES = [
  ...['200', '201', '204', '304', '400', '401', '403', '404', '405', '408', '409', '410', '412', '413', '414', '415'],
  ...['422', '428', '429', '431', '500', '501', '503', 'other'],
] as const
/** The route of a request whose path leads nowhere, and of one to a route of a project's own, whose paths may change while the server runs. */
export const [NO_ROUTE, OWN_ROUTE] = ['none', 'own'] as const

export type KindOfRequest = (typeof KINDS_OF_REQUEST)[number]
export type KindOfStatement = (typeof KINDS_OF_STATEMENT)[number]
