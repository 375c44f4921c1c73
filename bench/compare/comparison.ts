import { figureText, KEYS, type Spread, SUBJECT, spreadOf, WHOLE_KEY } from '../report/summary.ts'
import { median, type ScenarioResult } from '../results.ts'

/** Change of a figure between two targets that took turns: A B B A, A B B A, ... */
interface Change {
  readonly before: number
  readonly after: number
  /** Ratios after / before of the blocks A B B A. */
  readonly ratio: Spread
}

/** One scenario, before and after. */
export interface Comparison {
  readonly scenario: string
  readonly requestsPerSecond: Change | null
  readonly serverCpuUs: Change | null
  readonly postgresCpuUs: Change | null
  /** Why a target's figures do not count; null if they count. */
  readonly faults: { readonly before: string | null; readonly after: string | null }
}

/** Compares two targets of a result, which took turns. */
export function comparisonOf({ name, targets }: ScenarioResult, names: readonly string[] = ['before', 'after']): Comparison {
  const [before, after] = names.map((wanted) => targets.find(({ target }) => target === wanted))
  const change = (key: 'requestsPerSecond' | 'serverCpuUs' | 'postgresCpuUs') => {
    const [first = [], second = []] = [before, after].map((found) => found?.rounds.map((round) => round[key]))
    return changeOf(first, second)
  }
  return {
    scenario: name,
    requestsPerSecond: change('requestsPerSecond'),
    serverCpuUs: change('serverCpuUs'),
    postgresCpuUs: change('postgresCpuUs'),
    faults: { before: before?.void ?? null, after: after?.void ?? null },
  }
}

type Figures = readonly (number | null)[]

/**
 * Returns the ratio of each block A B B A, in which a steady drift affects both targets equally. Null if no block is complete.
 */
function changeOf(before: Figures, after: Figures): Change | null {
  const [means, others] = [blocksOf(before), blocksOf(after)]
  const whole = means.flatMap((mean, block) => (mean && others[block] ? [[mean, others[block]] as const] : []))
  const ratio = spreadOf(whole.map(([mean, other]) => other / mean))
  return ratio && { before: median(whole.map(([mean]) => mean)), after: median(whole.map(([, mean]) => mean)), ratio }
}

/** Returns the mean of every two successive figures; null if one of the two is missing. */
function blocksOf(figures: Figures): (number | null)[] {
  return Array.from({ length: Math.ceil(figures.length / 2) }, (_, block) => {
    const [first = null, second = null] = figures.slice(2 * block)
    return first === null || second === null ? null : (first + second) / 2
  })
}

/**
 * Returns a line with the ratios of keys with few rights to keys with all rights, or of persons to keys. Null if the figures do
 * not count.
 */
export function rightsLine(result: ScenarioResult): string | null {
  const ofKeys = result.targets.some(({ target }) => target === KEYS)
  const { requestsPerSecond, serverCpuUs, postgresCpuUs, faults } = comparisonOf(result, [ofKeys ? KEYS : WHOLE_KEY, SUBJECT])
  if (!requestsPerSecond || faults.before !== null || faults.after !== null) return null
  const parts = Object.entries({
    'requests/s': requestsPerSecond,
    'CPU of the server': serverCpuUs,
    'of PostgreSQL': postgresCpuUs,
  })
  const told = parts.flatMap(([name, change]) => (change ? [`${name} ${ratioText(change)}`] : []))
  const named = ofKeys ? 'by persons ÷ by keys with rights of the same kind' : 'under rights ÷ by a key of all rights'
  return `  ${named}: ${told.join(', ')}`
}

function ratioText({ ratio }: Change): string {
  const { middle, least, greatest } = ratio
  return `${middle.toFixed(3)} (${least.toFixed(3)} – ${greatest.toFixed(3)})`
}

const WIDTHS = [26, -20, -24, -18, -24]

export const headLine = line(['scenario', 'requests/s', 'ratio (spread)', 'server CPU µs', 'ratio (spread)'])

/** Formats a line of the table, with a word if the scenario has failed. */
export function comparisonLine(comparison: Comparison, percentMax: number): string {
  const { scenario, requestsPerSecond, serverCpuUs, faults } = comparison
  const cells = [requestsPerSecond, serverCpuUs].flatMap((change) => {
    if (!change) return ['–', '–']
    return [`${figureText(change.before)} → ${figureText(change.after)}`, ratioText(change)]
  })
  const verdict =
    faults.after !== null ? `FAILS: ${faults.after}` : faults.before !== null ? `void, since before: ${faults.before}` : ''
  return `${line([scenario, ...cells])}  ${verdict || (isFailure(comparison, percentMax) ? 'LOSS' : '')}`.trimEnd()
}

/** True if the working tree is slower by more than the threshold, or gives unexpected answers. */
export function isFailure({ requestsPerSecond: change, faults }: Comparison, percentMax: number): boolean {
  if (faults.after !== null) return true
  return faults.before === null && change !== null && change.ratio.middle < 1 - percentMax / 100
}

/** Formats cells with fixed widths; a negative width aligns to the right. */
function line(cells: readonly string[]): string {
  const padded = cells.map((cell, index) => {
    const width = WIDTHS[index] ?? 0
    return width < 0 ? cell.padStart(-width) : cell.padEnd(width)
  })
  return padded.join('')
}
