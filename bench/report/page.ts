import type { Results, ScenarioResult } from '../results.ts'
import { besideLines, COLUMNS, foundLines, kindsOf, type Row, ratioLine, rowsOf, type Spread } from './summary.ts'
import { dotPlot, linePlot } from './svg.ts'

const STYLE = `body { max-width: 60rem; margin: 1rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd }
th:first-child { text-align: left } .scroll { overflow-x: auto } svg { display: block; width: 100%; height: auto }
.void { text-decoration: line-through } .reason { text-align: left; white-space: normal }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e8eaed } }`

const escaped = Bun.escapeHTML

/** Returns an HTML page that loads nothing: no script, no font, no other address. */
export function writePage(results: Results): string {
  const { machine, rows, versions, seconds, rounds, connections, workers, seed, command, commit, date } = results
  const facts = {
    ...{ date, commit, command },
    machine: `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.os}`,
    versions: Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    rows: `${rows.absences} absences${rows.areTogether ? ' whose properties go together' : ''}, ${rows.employees} employees, ${rows.companies} companies`,
    load: `${connections} connections, ${rounds} rounds of ${seconds} s, ${workers} workers, seed ${seed}`,
  }
  const list = Object.entries(facts).map(([name, value]) => `<li>${name}: ${escaped(value)}</li>`)
  const curves = results.curves.map((curve) => `<h2>${escaped(curve.title)}</h2>\n${linePlot(curve)}`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
<title>Roster bench ${date}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Roster bench</h1>
<ul>${list.join('\n')}</ul>
<p>Every figure is the median of its rounds. Figures of a target that is struck out do not count.</p>
${[...results.scenarios.map(chapter), ...curves].join('\n')}
</body>
</html>
`
}

function chapter(scenario: ScenarioResult): string {
  const rows = rowsOf(scenario)
  const heads = ['target', ...COLUMNS.map(({ head }) => head)].map((head) => `<th scope="col">${escaped(head)}</th>`)
  return `<h2>${escaped(scenario.title)} <code>${scenario.name}</code></h2>
${ratePlot([{ title: '', rows }])}
<div class="scroll"><table><thead><tr>${heads.join('')}</tr></thead>
<tbody>${rows.map((row) => line(row, rows)).join('\n')}</tbody></table></div>
${kindsTable(scenario)}<p>${[...foundLines(scenario), ...besideLines(scenario), ratioLine(scenario) ?? ''].map(escaped).join('<br />')}</p>`
}

/** Returns a table of the latencies of each kind of list; empty if the scenario has no kinds. */
function kindsTable(scenario: ScenarioResult): string {
  const kinds = kindsOf(scenario)
  const [first] = kinds
  if (!first) return ''
  const heads = ['p50 / p99, ms', ...first.latencies.map(({ target }) => target)]
  const lines = kinds.map(({ kind, latencies }) => {
    return `<tr><th scope="row">${escaped(kind)}</th>${latencies.map(({ text }) => `<td>${text}</td>`).join('')}</tr>`
  })
  return `<div class="scroll"><table><thead><tr>${heads.map((head) => `<th scope="col">${escaped(head)}</th>`).join('')}</tr></thead>
<tbody>${lines.join('\n')}</tbody></table></div>
`
}

function line(row: Row, all: readonly Row[]): string {
  const cells = COLUMNS.map(({ text }) => `<td>${escaped(text(row, all))}</td>`).join('')
  const head = `<th scope="row">${escaped(row.target)}</th>`
  if (row.void === null) return `<tr>${head}${cells}</tr>`
  const reason = `<tr><td class="reason" colspan="${COLUMNS.length + 1}">${escaped(row.void)}</td></tr>`
  return `<tr class="void">${head}${cells}</tr>${reason}`
}

interface PlottedGroup {
  readonly title: string
  readonly rows: readonly Row[]
}

/** Plots requests/s of all targets whose figures count. */
export function ratePlot(groups: readonly PlottedGroup[]): string {
  return plot('requests/s', groups, ({ requestsPerSecond }) => requestsPerSecond)
}

/** Plots the latency that 99 of 100 responses do not exceed. */
export function latencyPlot(groups: readonly PlottedGroup[]): string {
  return plot('p99, ms', groups, ({ p99Ms: p99 }) => p99 && { least: p99.middle, middle: p99.middle, greatest: p99.middle })
}

function plot(axis: string, groups: readonly PlottedGroup[], spreadOf: (row: Row) => Spread | null | undefined): string {
  const dotOf = (row: Row) => {
    const spread = row.void === null && spreadOf(row)
    return spread ? [{ name: row.target, ...spread }] : []
  }
  return dotPlot({ axis, groups: groups.map(({ title, rows }) => ({ title, dots: rows.flatMap(dotOf) })) })
}
