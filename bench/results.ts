/** What one run has measured. A file in `bench/results/` is one of these as JSON. */
export interface Results {
  readonly date: string
  readonly command: string
  /** Of the source; with `+` behind it where the checkout had changes. */
  readonly commit: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly os: string }
  readonly versions: Readonly<Record<string, string>>
  readonly seconds: number
  readonly rounds: number
  readonly connections: number
  readonly workers: number
  readonly seed: number
  readonly rows: { readonly absences: number; readonly employees: number; readonly companies: number }
  readonly curves: readonly Curve[]
  readonly scenarios: readonly ScenarioResult[]
}

export interface ScenarioResult {
  /** `one-by-id`: what `--only` takes. */
  readonly name: string
  /** `one absence by a random id`: what a reader sees. */
  readonly title: string
  readonly targets: readonly TargetResult[]
}

/** How the name of a target ends that is a peer on tables with indexes made for what it is asked. */
export const INDEXED = '-indexed'

/** One program under the load of a scenario: `roster`, `no-memory`, the floor `constant`, or a peer. */
export interface TargetResult {
  readonly target: string
  /** Why its figures do not count; null: they do. */
  readonly void: string | null
  /** In the order in which they were run; rounds of the targets alternate. */
  readonly rounds: readonly Sample[]
}

export interface Sample {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of a request, user and system; null where it is not measured. */
  readonly serverCpuUs: number | null
  readonly postgresCpuUs: number | null
  /** Resident memory of the largest process that serves. */
  readonly rssMb: number | null
}

/** One plot: `y` over `x` for each target. */
export interface Curve {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly series: readonly { readonly label: string; readonly points: readonly (readonly [x: number, y: number])[] }[]
}

/** The middle of the values; of an even number, between the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
