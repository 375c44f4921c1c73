/** What one run of the suite has measured. A file in `bench/results/` is one of these as JSON. */
export interface Results {
  /** ISO 8601, UTC. */
  readonly date: string
  readonly command: string
  /** Of the source; with `+` behind it where the checkout had changes. */
  readonly commit: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly os: string }
  /** By program or package. */
  readonly versions: Readonly<Record<string, string>>
  readonly seconds: number
  readonly rounds: number
  readonly connections: number
  readonly workers: number
  /** Of all random values; `--seed` repeats them. Runs of before have none. */
  readonly seed?: number
  readonly rows: { readonly absences: number; readonly employees: number; readonly companies: number }
  readonly scenarios: readonly ScenarioResult[]
  readonly curves: readonly Curve[]
  /** What it costs to have absences in columns, by round; not there where it was not measured. */
  readonly columns?: readonly ColumnsRound[]
}

/** One start of a server with one worker, and the one without columns beside it. CPU time is null where it is not measured. */
export interface ColumnsRound {
  /** From its start until it listens, and until the first list was answered after the absences were read into columns. */
  readonly listensMs: number
  readonly firstListMs: number
  /** As its log says. */
  readonly loadMs: number
  readonly mb: number
  /** CPU time of the load. */
  readonly loadServerMs: number | null
  readonly loadPostgresMs: number | null
  readonly with: WriteCost
  readonly without: WriteCost
}

/** Changes of absences, 1,000 a second, beside ten new lists a second. */
export interface WriteCost {
  readonly writesPerSecond: number
  /** For a write, with what the lists cost. */
  readonly serverCpuUs: number | null
  /** At the end, of the worker. */
  readonly rssMb: number | null
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

/** One program under the same load: `roster`, a floor (`constant`, `bare`, `pgbench`), or a peer. */
export interface TargetResult {
  readonly target: string
  /** In the order in which they were run; rounds of the targets alternate. */
  readonly rounds: readonly Sample[]
  /** Why its figures do not count; null: they do. */
  readonly void: string | null
}

export interface Sample {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p97_5Ms: number
  readonly p99Ms: number
  /** Connections lost and time-outs. */
  readonly errors: number
  /** Answers with another status than the scenario's. */
  readonly unexpected: number
  /** CPU time of a request, user and system; null where it is not measured. */
  readonly serverCpuUs: number | null
  readonly postgresCpuUs: number | null
  /** Resident memory of the largest process that serves. */
  readonly rssMb: number | null
  /** Points of the distribution for its plot: percentile (0 to 100) and latency, both ascending. */
  readonly latency: readonly (readonly [percentile: number, ms: number])[]
}

/** One plot: `y` over `x` for each target. */
export interface Curve {
  /** `depth`, `rows`, `connections`, `halfLoad`. */
  readonly name: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly logarithmic: boolean
  readonly series: readonly { readonly label: string; readonly points: readonly (readonly [x: number, y: number])[] }[]
}

/** The name of the files of a run, without an ending: its time. */
export function fileNameOf({ date }: Pick<Results, 'date'>): string {
  return date.replace(/\.\d+Z$/, 'Z').replaceAll(':', '-')
}

/** The middle of the values; of an even number, between the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
