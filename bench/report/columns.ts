import type { ColumnsRound, Results } from '../results.ts'
import { figure, figureText } from './figure.ts'
import { html, type Markup } from './markup.ts'
import { type Spread, spreadOf } from './summary.ts'

const MILLION = 1_000_000
/** Of fewer, what a process happens to keep is more than what they take. */
const ABSENCES_MIN = 100_000

/** One figure of what a table in columns costs; null: it was not measured. */
interface Line {
  readonly what: string
  readonly figure: Spread | null
}

/** What a table in columns costs: medians over the rounds. */
export function columnsLines(rounds: readonly ColumnsRound[], { absences }: Pick<Results['rows'], 'absences'>): Line[] {
  const line = (what: string, of: (round: ColumnsRound) => number | null): Line => {
    return { what, figure: spreadOf(rounds.map(of)) }
  }
  const rss = (round: ColumnsRound) =>
    round.with.rssMb === null || round.without.rssMb === null ? null : round.with.rssMb - round.without.rssMb
  return [
    line('from the start of the server until it listens, ms', ({ listensMs }) => listensMs),
    line('from its start to the first list from columns, while one client asks, ms', ({ firstListMs }) => firstListMs),
    line('the load, ms', ({ loadMs }) => loadMs),
    line('CPU time of the load in the server, ms', ({ loadServerMs }) => loadServerMs),
    line('CPU time of the load in PostgreSQL, ms', ({ loadPostgresMs }) => loadPostgresMs),
    line('memory as the server says, MB', ({ mb }) => mb),
    line('resident memory more than without columns, MB', rss),
    line('the same for a million absences, MB', (round) => forMillion(rss(round), absences)),
    line('changes a second, beside 10 new lists a second', (round) => round.with.writesPerSecond),
    line('the same without columns', (round) => round.without.writesPerSecond),
    line('CPU time of the server for a change, µs', (round) => round.with.serverCpuUs),
    line('the same without columns, µs', (round) => round.without.serverCpuUs),
  ]
}

function forMillion(value: number | null, absences: number): number | null {
  return value === null || absences < ABSENCES_MIN ? null : (value * MILLION) / absences
}

/** For the console. */
export function formatColumns(rounds: readonly ColumnsRound[], rows: Results['rows']): string {
  const lines = columnsLines(rounds, rows).map(({ what, figure: found }) => {
    const text = found ? `${figureText(found.middle)} (${figureText(found.least)}..${figureText(found.greatest)})` : '-'
    return `  ${what}: ${text}`
  })
  return ['absences in columns, one worker', ...lines].join('\n')
}

/** Nothing where it was not measured. */
export function columnsTable({ columns = [], rows }: Results): Markup {
  if (columns.length === 0) return html``
  const lines = columnsLines(columns, rows).map(
    ({ what, figure: found }) =>
      html`<tr><th scope="row">${what}</th><td>${figure(found?.middle ?? null)}</td><td>${figure(found?.least ?? null)} – ${figure(found?.greatest ?? null)}</td></tr>
`,
  )
  return html`<section><h2>Absences in columns</h2>
<p>Medians of ${String(columns.length)} rounds. Each starts a server with one worker and nothing in memory, and one with <code>COLUMNS_MB=0</code>
beside it in turns. One client asks for new lists, one after the other, until the server reads the absences into columns. Then
1,000 absences are changed a second, beside ten new lists a second. Both servers log requests (<code>LOG_LEVEL=info</code>).</p>
<div class="scroll" role="region" aria-label="Absences in columns" tabindex="0"><table>
<thead><tr><th scope="col">what</th><th scope="col">median</th><th scope="col">least – most</th></tr></thead>
<tbody>${lines}</tbody></table></div></section>
`
}
