import { INDEXED, median, type Results, type Sample, type ScenarioResult, type TargetResult } from '../results.ts'
import { divide, type Ratio, ratiosAmong } from './ratios.ts'

export const SUBJECT = 'roster'
export const NO_CACHE = 'no-cache'
/** What is compared with, but is no program that one would deploy instead. */
const NO_PEERS = [SUBJECT, NO_CACHE, 'constant', 'bare', 'uncounted', 'pgbench', 'loop']

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
  /** Its figures divided by those of others, in the order of `ratiosOf`; null: of itself, or one of both does not count. */
  readonly ratios: readonly (number | null)[]
  /** Roster's requests/s divided by that of the best peer; null on any other row, and where no peer counts. */
  readonly toBestPeer: Duel | null
  /** The same beside the best peer that has an index made for what it is asked. */
  readonly toBestIndexed: Duel | null
}

/** Middle, least and greatest of the rounds. */
export interface Spread {
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

/** The ratios that can be formed of these results. */
export function ratiosOf(results: Results): Ratio[] {
  return ratiosAmong(targetsOf(results))
}

/** Every target of these results: Roster, then the others as they come. */
export function targetsOf({ scenarios }: Results): string[] {
  return [...new Set([SUBJECT, ...scenarios.flatMap(({ targets }) => targets.map(({ target }) => target))])]
}

/** Whether the target is another server, which one could deploy instead, on the same tables. */
export function isPeer(target: string): boolean {
  return !NO_PEERS.includes(target) && !isIndexed(target)
}

/** Whether it is a peer whose tables have an index made for what it is asked. */
export function isIndexed(target: string): boolean {
  return target.endsWith(INDEXED)
}

/** The rows of each scenario. A void row keeps its figures, and nothing is compared with it. */
export function summarise(results: Results, ratios: readonly Ratio[] = ratiosOf(results)): Section[] {
  return results.scenarios.map((scenario) => {
    const measured = scenario.targets.map(measure)
    return { scenario, rows: measured.map((row) => ({ ...row, ...compare(row, measured, ratios) })) }
  })
}

type Ratios = Pick<Row, 'ratios' | 'toBestPeer' | 'toBestIndexed'>
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

function compare(row: Measured, all: readonly Measured[], ratios: readonly Ratio[]): Ratios {
  const beside = (isOther: (target: string) => boolean) =>
    row.target === SUBJECT
      ? duel(
          row,
          all.filter(({ target }) => isOther(target)),
        )
      : null
  return {
    ratios: ratios.map((ratio) => divide(ratio, row, all)),
    toBestPeer: beside(isPeer),
    toBestIndexed: beside(isIndexed),
  }
}

function duel(row: Measured, others: readonly Measured[]): Duel | null {
  const peers = others.filter((other) => rateOf(other) !== null)
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

export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null && Number.isFinite(value)) as number[]
  if (known.length === 0) return null
  return { middle: median(known), least: Math.min(...known), greatest: Math.max(...known) }
}
