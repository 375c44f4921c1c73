import { median, type Results, type Sample, type ScenarioResult, type TargetResult } from '../results.ts'

export const SUBJECT = 'roster'
/** What is compared with, but is no program that anybody would deploy instead. */
const FLOORS = ['constant', 'bare', 'pgbench', 'loop']

/** One program in one scenario: medians over its rounds; null where nothing was measured. */
export interface Row {
  readonly target: string
  readonly void: string | null
  readonly requestsPerSecond: Spread | null
  readonly p50Ms: number | null
  readonly p97_5Ms: number | null
  readonly p99Ms: number | null
  readonly serverCpuUs: number | null
  readonly postgresCpuUs: number | null
  readonly rssMb: number | null
  /** Its requests/s divided by that of each floor, in the order of `floors`; null: of itself, or one of both does not count. */
  readonly toFloors: readonly (number | null)[]
  /** Its server's CPU time of a request divided by that of the floor `bare`; null as for `toFloors`. */
  readonly cpuToBare: number | null
  /** Roster's requests/s divided by that of the best peer; null on any other row, and where no peer counts. */
  readonly toBestPeer: Duel | null
}

/** Middle, least and greatest of the rounds. */
interface Spread {
  readonly middle: number
  readonly least: number
  readonly greatest: number
}

/** `open`: the rounds of both overlap, so this run does not tell who is faster. */
export interface Duel {
  readonly peer: string
  readonly ratio: number
  readonly outcome: 'ahead' | 'behind' | 'open'
}

export interface Section {
  readonly scenario: ScenarioResult
  readonly rows: readonly Row[]
}

/** The floors of these results, in the order of the first scenario that has them. */
export function floorsOf(results: Results): string[] {
  return targetsOf(results).filter((target) => FLOORS.includes(target))
}

/** Every target of these results: Roster, then the others as they come. */
export function targetsOf({ scenarios }: Results): string[] {
  return [...new Set([SUBJECT, ...scenarios.flatMap(({ targets }) => targets.map(({ target }) => target))])]
}

/** The rows of each scenario. A void row keeps its figures, and nothing is compared with it. */
export function summarise(results: Results): Section[] {
  const floors = floorsOf(results)
  return results.scenarios.map((scenario) => {
    const measured = scenario.targets.map(measure)
    return { scenario, rows: measured.map((row) => ({ ...row, ...compare(row, measured, floors) })) }
  })
}

type Ratios = Pick<Row, 'toFloors' | 'cpuToBare' | 'toBestPeer'>
type Measured = Omit<Row, keyof Ratios>

function measure({ target, rounds, void: reason }: TargetResult): Measured {
  const middle = (key: Exclude<keyof Sample, 'latency'>) => spreadOf(rounds.map((round) => round[key]))?.middle ?? null
  return {
    target,
    void: reason,
    requestsPerSecond: spreadOf(rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
    p50Ms: middle('p50Ms'),
    p97_5Ms: middle('p97_5Ms'),
    p99Ms: middle('p99Ms'),
    serverCpuUs: middle('serverCpuUs'),
    postgresCpuUs: middle('postgresCpuUs'),
    rssMb: middle('rssMb'),
  }
}

function compare(row: Measured, all: readonly Measured[], floors: readonly string[]): Ratios {
  const over = (floor: string, figureOf: (row: Measured) => number | null) => {
    const other = all.find(({ target }) => target === floor)
    return other === undefined || other === row ? null : quotient(figureOf(row), figureOf(other))
  }
  return {
    toFloors: floors.map((floor) => over(floor, rateOf)),
    cpuToBare: over('bare', ({ void: reason, serverCpuUs }) => (reason === null ? serverCpuUs : null)),
    toBestPeer: row.target === SUBJECT ? duel(row, all) : null,
  }
}

function duel(row: Measured, all: readonly Measured[]): Duel | null {
  const peers = all.filter((other) => other !== row && !FLOORS.includes(other.target) && rateOf(other) !== null)
  const best = peers.toSorted((a, b) => (rateOf(b) ?? 0) - (rateOf(a) ?? 0))[0]
  const ratio = best ? quotient(rateOf(row), rateOf(best)) : null
  if (!best?.requestsPerSecond || !row.requestsPerSecond || ratio === null) return null
  return { peer: best.target, ratio, outcome: outcomeOf(row.requestsPerSecond, best.requestsPerSecond) }
}

function outcomeOf(ours: Spread, theirs: Spread): Duel['outcome'] {
  if (ours.least > theirs.greatest) return 'ahead'
  return ours.greatest < theirs.least ? 'behind' : 'open'
}

/** Null for a row whose figures do not count. */
function rateOf({ void: reason, requestsPerSecond }: Measured): number | null {
  return reason === null ? (requestsPerSecond?.middle ?? null) : null
}

function quotient(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null || divisor === 0 ? null : dividend / divisor
}

function spreadOf(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null && Number.isFinite(value)) as number[]
  if (known.length === 0) return null
  return { middle: median(known), least: Math.min(...known), greatest: Math.max(...known) }
}
