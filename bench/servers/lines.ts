import { changeOf } from '../compare/verdict.ts'
import { figureText } from '../report/figure.ts'
import { median } from '../results.ts'
import type { SideRun } from './measure.ts'

/** All runs of two sides under one scenario, each in the order in which they were made. */
export interface SidesResult {
  readonly scenario: string
  readonly first: readonly SideRun[]
  readonly second: readonly SideRun[]
}

/** One line: requests/s of either side, second ÷ first with its spread, what went wrong. */
export function resultLine({ scenario, first, second }: SidesResult): string {
  const change = changeOf(figuresOf(first), figuresOf(second))
  const movement = change ? `${figureText(change.before)} → ${figureText(change.after)}` : '–'
  const [middle, least, greatest] = change
    ? [change.ratio, change.least, change.greatest].map((value) => value.toFixed(3))
    : []
  const ratio = change ? `${middle} (${least} – ${greatest})` : '–'
  const cells = [scenario.padEnd(28), movement.padStart(20), ratio.padStart(24)]
  return `${cells.join('')}${columnsText({ first, second })}${costText({ first, second })}  ${faultText([...first, ...second])}`
}

/** Whether a run was answered wrongly. */
export function hasFault({ first, second }: Pick<SidesResult, 'first' | 'second'>): boolean {
  return [...first, ...second].some(({ fault }) => fault !== null)
}

function figuresOf(runs: readonly SideRun[]): (number | null)[] {
  return runs.map(({ fault, requestsPerSecond }) => (fault === null ? requestsPerSecond : null))
}

function columnsText({ first, second }: Pick<SidesResult, 'first' | 'second'>): string {
  const writes = [...first, ...second].flatMap(({ foreignWritesPerSecond }) => foreignWritesPerSecond ?? [])
  if (writes.length === 0) return ''
  const [one, other] = [first, second].map((runs) => runs.reduce((sum, { loadsAnew }) => sum + loadsAnew, 0))
  return `  columns read anew ${one} → ${other} times, by at least ${Math.floor(Math.min(...writes))} foreign writes/s`
}

/** CPU time of the servers for a request, and how many webhooks were taken meanwhile. */
function costText({ first, second }: Pick<SidesResult, 'first' | 'second'>): string {
  const cpu = changeOf(cpuOf(first), cpuOf(second))
  const posted = second.flatMap(({ postedPerSecond }) => postedPerSecond ?? [])
  const parts = [
    ...(cpu === null ? [] : [`${figureText(cpu.before)} → ${figureText(cpu.after)} µs CPU of the server each`]),
    ...(posted.length === 0 ? [] : [`${figureText(median(posted))} webhooks/s`]),
  ]
  return parts.map((part) => `  ${part}`).join('')
}

function cpuOf(runs: readonly SideRun[]): (number | null)[] {
  return runs.map(({ fault, cpuUs }) => (fault === null ? cpuUs : null))
}

function faultText(runs: readonly SideRun[]): string {
  const faults = runs.flatMap(({ fault }) => fault ?? [])
  return faults.length === 0 ? 'no errors' : `WRONG in ${faults.length} of ${runs.length} runs: ${faults[0]}`
}
