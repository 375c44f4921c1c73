import type { Results } from '../results.ts'
import { figure, ratio } from './figure.ts'
import { html, type Markup } from './markup.ts'
import { BEST_INDEXED, BEST_PEER, headOf } from './ratios.ts'
import { type Duel, type Row, ratiosOf, type Section, SUBJECT } from './summary.ts'

interface Column {
  readonly head: string
  cell(row: Row): Markup
}

const COLUMNS: readonly Column[] = [
  { head: 'requests/s', cell: ({ requestsPerSecond: rate }) => figure(rate?.middle ?? null) },
  { head: 'least – most', cell: ({ requestsPerSecond: rate }) => range(rate) },
  { head: 'p50 ms', cell: ({ p50Ms }) => figure(p50Ms) },
  { head: 'p97.5 ms', cell: ({ p97_5Ms }) => figure(p97_5Ms) },
  { head: 'p99 ms', cell: ({ p99Ms }) => figure(p99Ms) },
  { head: 'server CPU µs', cell: ({ serverCpuUs }) => figure(serverCpuUs) },
  { head: 'PostgreSQL CPU µs', cell: ({ postgresCpuUs }) => figure(postgresCpuUs) },
  { head: 'RSS MB', cell: ({ rssMb }) => figure(rssMb) },
]

const VERDICTS: Record<Duel['outcome'], string> = {
  ahead: '▲ ahead of',
  behind: '▼ behind',
  open: '◆ rounds overlap with',
}

/** Every scenario with all its targets: figures, ratios to the others and to the best peer. */
export function summaryTable(results: Results, sections: readonly Section[]): Markup {
  const columns = [...COLUMNS, ...ratioColumns(results, sections)]
  return html`<div class="scroll" role="region" aria-label="Summary" tabindex="0"><table class="summary">
<caption>Medians of ${String(results.rounds)} × ${String(results.seconds)} s; CPU is for each request</caption>
<thead><tr><th scope="col">target</th>${columns.map(({ head }) => html`<th scope="col">${head}</th>`)}</tr></thead>
${sections.map((section, index) => body(section, index, columns))}
</table></div>`
}

/** Those for which the results have something to compare with. */
function ratioColumns(results: Results, sections: readonly Section[]): Column[] {
  const has = (duel: 'toBestPeer' | 'toBestIndexed') =>
    sections.some(({ rows }) => rows.some((row) => row[duel] !== null))
  return [
    ...ratiosOf(results).map((one, index) => ({
      head: headOf(one),
      cell: (row: Row) => ratio(row.ratios[index] ?? null),
    })),
    ...(has('toBestPeer') ? [{ head: BEST_PEER, cell: (row: Row) => verdict(row.toBestPeer) }] : []),
    ...(has('toBestIndexed') ? [{ head: BEST_INDEXED, cell: (row: Row) => verdict(row.toBestIndexed) }] : []),
  ]
}

function body({ scenario, rows }: Section, index: number, columns: readonly Column[]): Markup {
  return html`<tbody>
<tr class="scenario"><th colspan="${columns.length + 1}" scope="rowgroup"><a href="#scenario-${index}">${scenario.title}</a> <code>${scenario.name}</code></th></tr>
${rows.map((row) => (row.void === null ? standing(row, columns) : voided(row, row.void, columns)))}
</tbody>
`
}

function standing(row: Row, columns: readonly Column[]): Markup {
  const cells = columns.map(({ cell }) => html`<td>${cell(row)}</td>`)
  return html`<tr class="${row.target === SUBJECT ? 'subject' : ''}"><th scope="row">${row.target}</th>${cells}</tr>
`
}

/** Its reason stands where others have their ratios, or on a line of its own where there are none. */
function voided(row: Row, reason: string, columns: readonly Column[]): Markup {
  const cells = COLUMNS.map(({ cell }) => html`<td><s>${cell(row)}</s></td>`)
  const width = columns.length - COLUMNS.length
  const text = html`<td class="reason" colspan="${width > 0 ? width : columns.length + 1}">void: ${reason}</td>`
  const place = width > 0 ? text : html`</tr><tr class="void">${text}`
  return html`<tr class="void"><th scope="row"><s>${row.target}</s></th>${cells}${place}</tr>
`
}

function range(spread: Row['requestsPerSecond']): Markup {
  return html`${figure(spread?.least ?? null)} – ${figure(spread?.greatest ?? null)}`
}

function verdict(duel: Duel | null): Markup {
  if (duel === null) return html``
  return html`<span class="${duel.outcome}">${ratio(duel.ratio)} ${VERDICTS[duel.outcome]} ${duel.peer}</span>`
}

/** How often Roster was ahead of the best peer, behind it, and where; nothing without peers. */
export function score(sections: readonly Section[]): Markup {
  const duels = sections.flatMap(({ scenario, rows }) =>
    rows.flatMap(({ toBestPeer }) => (toBestPeer ? [{ title: scenario.title, ...toBestPeer }] : [])),
  )
  if (duels.length === 0) return html``
  return html`<ul class="score">${(['ahead', 'behind', 'open'] as const).map((outcome) => {
    const these = duels.filter((duel) => duel.outcome === outcome)
    const names = these.map(({ title, peer }) => `${title} (${peer})`).join('; ')
    return html`<li><span class="${outcome}">${VERDICTS[outcome]}</span> the best peer: ${String(these.length)} of ${String(duels.length)}${names && `: ${names}`}</li>`
  })}</ul>`
}
