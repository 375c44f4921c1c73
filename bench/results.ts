/** Measurements of one run. Each file in `bench/results/` has one run as JSON. */
export interface Results {
  readonly date: string
  readonly command: string
  /** Commit of the source, with `+` if the checkout had changes. */
  readonly commit: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly os: string }
  readonly versions: Readonly<Record<string, string>>
  readonly seconds: number
  readonly rounds: number
  readonly connections: number
  readonly workers: number
  readonly seed: number
  /** Duration of the measurement; earlier runs have none. */
  readonly minutes?: number
  readonly rows: {
    readonly absences: number
    readonly employees: number
    readonly companies: number
    readonly areTogether?: true
  }
  readonly curves: readonly Curve[]
  readonly scenarios: readonly ScenarioResult[]
}

export interface ScenarioResult {
  /** Name for `--only`, such as `one-by-id`. */
  readonly name: string
  /** Title for readers, such as `one absence by a random id`. */
  readonly title: string
  readonly targets: readonly TargetResult[]
}

/** Suffix of a peer on tables with indexes made for its requests. */
export const INDEXED = '-indexed'

/** One program under the load of a scenario: `roster`, `no-memory`, the floor `constant`, or a peer. */
export interface TargetResult {
  readonly target: string
  /** Reason why the figures do not count; null if they count. */
  readonly void: string | null
  /** Rounds in the order in which they were run. The rounds of different targets alternate. */
  readonly rounds: readonly Sample[]
}

/** Latencies that 50 and 99 of 100 responses did not exceed. */
export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Sample extends Latency {
  readonly requestsPerSecond: number
  /** CPU time of a request, user and system; null if it is not measured. */
  readonly serverCpuUs: number | null
  readonly postgresCpuUs: number | null
  /** Resident memory of the largest server process. */
  readonly rssMb: number | null
  /** CPU time of the load program and of the bench, as a percentage of all processors; earlier runs have none. */
  readonly loadCpuPercent?: number
  /** Answered background requests per second, if there is a background; earlier runs have none. */
  readonly besidePerSecond?: number
  /** Latencies of each kind of list, if the scenario asks for several. */
  readonly kinds?: Readonly<Record<string, Latency>>
  /** Percentages of the lists, by how the server found them. */
  readonly found?: Readonly<Record<string, number>>
}

/** A plot of `y` over `x`, with a line for each target. */
export interface Curve {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly series: readonly { readonly label: string; readonly points: readonly (readonly [x: number, y: number])[] }[]
}

/** Returns the median; of an even number of values, the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
