import { figureText } from '../report/figure.ts'
import type { ScenarioResult } from '../results.ts'
import { type Change, changeOf, isLoss } from './verdict.ts'

/** What one scenario has given before and after. */
export interface Comparison {
  readonly scenario: string
  readonly requestsPerSecond: Change | null
  readonly serverCpuUs: Change | null
  /** Why a target's figures do not count; null: they do. */
  readonly faults: { readonly before: string | null; readonly after: string | null }
}

/** `result` has two targets, `before` and `after`, which took turns. */
export function comparisonOf({ name, targets }: ScenarioResult): Comparison {
  const [before, after] = ['before', 'after'].map((name) => targets.find(({ target }) => target === name))
  const change = (key: 'requestsPerSecond' | 'serverCpuUs') => {
    const [first = [], second = []] = [before, after].map((found) => found?.rounds.map((round) => round[key]))
    return changeOf(first, second)
  }
  return {
    scenario: name,
    requestsPerSecond: change('requestsPerSecond'),
    serverCpuUs: change('serverCpuUs'),
    faults: { before: before?.void ?? null, after: after?.void ?? null },
  }
}

const WIDTHS = [20, -20, -24, -18, -24]

export const headLine = line(['scenario', 'requests/s', 'ratio (spread)', 'server CPU µs', 'ratio (spread)'])

/** One line of the table: what changed, and what that is called. */
export function comparisonLine(comparison: Comparison, percentMax: number): string {
  const { scenario, requestsPerSecond, serverCpuUs } = comparison
  const cells = [requestsPerSecond, serverCpuUs].flatMap((change) => [movement(change), ratio(change)])
  return `${line([scenario, ...cells])}  ${verdict(comparison, percentMax)}`.trimEnd()
}

/** A loss over the threshold, or a working tree that does not answer as it should. */
export function isFailure({ requestsPerSecond, faults }: Comparison, percentMax: number): boolean {
  if (faults.after !== null) return true
  return faults.before === null && requestsPerSecond !== null && isLoss(requestsPerSecond, percentMax)
}

function verdict(comparison: Comparison, percentMax: number): string {
  const { before, after } = comparison.faults
  if (after !== null) return `FAILS: ${after}`
  if (before !== null) return `void, since before: ${before}`
  return isFailure(comparison, percentMax) ? 'LOSS' : ''
}

function movement(change: Change | null): string {
  return change ? `${figureText(change.before)} → ${figureText(change.after)}` : '–'
}

function ratio(change: Change | null): string {
  if (!change) return '–'
  const [middle, least, greatest] = [change.ratio, change.least, change.greatest].map((value) => value.toFixed(3))
  return `${middle} (${least} – ${greatest})`
}

/** Cells of fixed width, those with a negative one to the right. */
function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => {
      const width = WIDTHS[index] ?? 0
      return width < 0 ? cell.padStart(-width) : cell.padEnd(width)
    })
    .join('')
}
