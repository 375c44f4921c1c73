import type { Results } from '../results.ts'
import { columnsTable } from './columns.ts'
import { curvePlot } from './curvePlot.ts'
import { figureText } from './figure.ts'
import { goalsOf, goalsTable } from './goals.ts'
import { html, Markup } from './markup.ts'
import { scenarioPlots } from './scenarioPlots.ts'
import { styleAt } from './seriesStyle.ts'
import { stylesheet } from './stylesheet.ts'
import { type Section, summarise, targetsOf } from './summary.ts'
import { score, summaryTable } from './summaryTable.ts'

/** One HTML page that needs nothing else: no script, no font, no address. Its tags are well-formed XML. */
export function writePage(results: Results): string {
  const sections = summarise(results)
  const targets = targetsOf(results)
  const styleOf = (target: string) => styleAt(targets.indexOf(target))
  return html`${new Markup('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
<meta name="color-scheme" content="light dark" />
<title>Roster bench ${results.date}</title>
<style>${new Markup(stylesheet)}</style>
</head>
<body>
<header><h1>Roster bench</h1>
${facts(results)}</header>
<main>
<section><h2>Summary</h2>
${score(sections)}
${summaryTable(results, sections)}
${HOW_TO_READ}</section>
${goalsTable(goalsOf(results, sections))}${sections.map((section, index) => chapter(section, index, styleOf))}
${columnsTable(results)}${curves(results)}
</main>
</body>
</html>
`.text
}

function facts(results: Results): Markup {
  const { machine, rows } = results
  const { seconds, rounds, connections, workers } = results
  const entries: Record<string, string> = {
    date: results.date,
    commit: results.commit,
    command: results.command,
    machine: `${machine.cpu}, ${machine.cores} cores, ${figureText(machine.memoryGb)} GB, ${machine.os}`,
    versions: Object.entries(results.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    rows: `${grouped(rows.absences)} absences, ${grouped(rows.employees)} employees, ${grouped(rows.companies)} companies`,
    load: `${connections} connections, ${rounds} rounds of ${seconds} s for each target, ${workers} workers`,
    ...(results.seed === undefined ? {} : { seed: String(results.seed) }),
  }
  return html`<dl>${Object.entries(entries).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

const HOW_TO_READ = html`<p>Every figure is the median of its rounds; rounds of the targets alternate. <code>roster</code>
is the server with the list cache, which is how it runs by itself; <code>no-cache</code> is the same with <code>LIST_CACHE=off</code>.
<em>× no-cache</em>, <em>× constant</em>, <em>× bare</em>, <em>× uncounted</em>, <em>× pgbench</em> and <em>× loop</em>
are requests/s divided by those of the server without the list cache and of the floors: a server that does nothing, a handler with
the same SQL and nothing else, the same without the total, and the same SQL without a server. <em>Server CPU ×</em> is CPU
time of a request and <em>p50 ×</em> the median time of an answer, so less is better. <em>× best peer</em> divides by
the fastest other server; where the rounds of both overlap, this run does not tell who is faster. Servers whose names end with
<code>-indexed</code> are on tables with an index made for the list, and <em>× best peer with its index</em> divides by the fastest of them. A void row is struck
out, and nothing is compared with it. The server logs warnings only (<code>LOG_LEVEL=warn</code>). Compare figures of one run only.</p>`

function chapter(section: Section, index: number, styleOf: Parameters<typeof scenarioPlots>[2]): Markup {
  const { title, name } = section.scenario
  return html`<section id="scenario-${index}"><h2>${title} <code>${name}</code></h2>
${scenarioPlots(section, `p${index}`, styleOf)}</section>
`
}

function curves({ curves: all }: Results): Markup {
  if (all.length === 0) return html``
  return html`<section id="curves"><h2>Curves</h2><div class="plots">${all.map((curve, index) => curvePlot(curve, `c${index}`))}</div></section>`
}
