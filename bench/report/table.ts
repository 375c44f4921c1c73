import type { ScenarioResult } from '../results.ts'
import { figureText, type Row, ratioOf, rowsOf, SUBJECT } from './summary.ts'

interface Column {
  readonly head: string
  text(row: Row, all: readonly Row[]): string
}

/** What the console and the page show of each target. */
export const COLUMNS: readonly Column[] = [
  { head: 'requests/s', text: ({ requestsPerSecond }) => figureText(requestsPerSecond?.middle) },
  {
    head: 'least – most',
    text: ({ requestsPerSecond: rate }) => `${figureText(rate?.least)} – ${figureText(rate?.greatest)}`,
  },
  { head: 'p50 ms', text: ({ p50Ms }) => figureText(p50Ms) },
  { head: 'p99 ms', text: ({ p99Ms }) => figureText(p99Ms) },
  { head: 'CPU µs', text: ({ serverCpuUs }) => figureText(serverCpuUs) },
  { head: 'PG µs', text: ({ postgresCpuUs }) => figureText(postgresCpuUs) },
  { head: 'RSS MB', text: ({ rssMb }) => figureText(rssMb) },
  { head: 'roster ÷ it', text: (row, all) => figureText(row.target === SUBJECT ? null : ratioOf(subjectOf(all), row)) },
]

const TARGET_WIDTH = 22
const widthOf = ({ head }: Column) => (head.includes('–') ? 20 : head.length + 4)

/** The line above all scenarios. */
export function formatHead(): string {
  return ' '.repeat(TARGET_WIDTH) + COLUMNS.map((column) => column.head.padStart(widthOf(column))).join('')
}

/** A scenario's title, and a line for each of its targets. */
export function formatScenario(scenario: ScenarioResult): string {
  const all = rowsOf(scenario)
  const lines = all.map((row) => {
    const cells = COLUMNS.map((column) => column.text(row, all).padStart(widthOf(column)))
    const reason = row.void === null ? '' : `\n    VOID: ${row.void}`
    return `  ${row.target.padEnd(TARGET_WIDTH - 2)}${cells.join('')}${reason}`
  })
  return [`${scenario.name}: ${scenario.title}`, ...lines].join('\n')
}

function subjectOf(rows: readonly Row[]): Row | undefined {
  return rows.find(({ target }) => target === SUBJECT)
}
