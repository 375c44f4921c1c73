import { type Ratio, shortHeadOf } from './report/ratios.ts'
import { type Row, summarise } from './report/summary.ts'
import type { Results, ScenarioResult } from './results.ts'

const WIDTHS = { target: 21, rate: 10, spread: 17, time: 9, errors: 7, cpu: 9, rss: 7, ratioMin: 8 }

interface Column {
  readonly head: string
  readonly width: number
  text(row: Row): string
}

/** The columns of a run with these ratios. */
function columnsFor(ratios: readonly Ratio[]): Column[] {
  return [
    { head: 'req/s', width: WIDTHS.rate, text: (row) => whole(row.requestsPerSecond?.middle ?? null) },
    { head: 'least..most', width: WIDTHS.spread, text: spreadOf },
    { head: 'p50 ms', width: WIDTHS.time, text: (row) => fixed(row.p50Ms, 2) },
    { head: 'p97.5', width: WIDTHS.time, text: (row) => fixed(row.p97_5Ms, 2) },
    { head: 'p99', width: WIDTHS.time, text: (row) => fixed(row.p99Ms, 2) },
    { head: 'CPU µs', width: WIDTHS.cpu, text: (row) => figure(row.serverCpuUs) },
    { head: 'PG µs', width: WIDTHS.cpu, text: (row) => figure(row.postgresCpuUs) },
    { head: 'RSS MB', width: WIDTHS.rss, text: (row) => fixed(row.rssMb, 0) },
    ...ratios.map((ratio, index) => {
      const head = shortHeadOf(ratio)
      const width = Math.max(WIDTHS.ratioMin, head.length + 2)
      return { head, width, text: (row: Row) => fixed(row.ratios[index] ?? null, 2) }
    }),
  ]
}

/** The line above all scenarios of a run with these ratios. */
export function formatHead(ratios: readonly Ratio[]): string {
  return line(
    '',
    columnsFor(ratios).map(({ head, width }) => head.padStart(width)),
  )
}

/** A scenario's title, and a line for each of its targets. */
export function formatScenario(results: Results, scenario: ScenarioResult, ratios: readonly Ratio[]): string {
  const [section] = summarise({ ...results, scenarios: [scenario] }, ratios)
  const lines = (section?.rows ?? []).flatMap((row) => {
    const errors = scenario.targets.find(({ target }) => target === row.target)?.rounds ?? []
    const cells = columnsFor(ratios).map(({ width, text }) => text(row).padStart(width))
    return [line(row.target, cells), ...(row.void === null ? [] : [voidLine(row.void, errors)])]
  })
  return [`${scenario.name}: ${scenario.title}`, ...lines].join('\n')
}

function voidLine(reason: string, rounds: ScenarioResult['targets'][number]['rounds']): string {
  const errors = rounds.reduce((sum, round) => sum + round.errors, 0)
  const unexpected = rounds.reduce((sum, round) => sum + round.unexpected, 0)
  return `    VOID: ${reason} (all rounds: ${errors} errors, ${unexpected} unexpected answers)`
}

function line(target: string, cells: readonly string[]): string {
  return `  ${target.padEnd(WIDTHS.target)}${cells.join('')}`.trimEnd()
}

function spreadOf({ requestsPerSecond: spread }: Row): string {
  return spread ? `${whole(spread.least)}..${whole(spread.greatest)}` : '-'
}

function whole(value: number | null): string {
  return value === null ? '-' : Math.round(value).toLocaleString('en')
}

function figure(value: number | null): string {
  return value !== null && value >= 1_000 ? whole(value) : fixed(value, 1)
}

function fixed(value: number | null, digits: number): string {
  return value === null || !Number.isFinite(value) ? '-' : value.toFixed(digits)
}
