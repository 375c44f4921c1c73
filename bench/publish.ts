import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { latencyPlot, ratePlot } from './report/page.ts'
import {
  bestOf,
  figureText,
  isIndexed,
  isPeer,
  memoryShareOf,
  NO_MEMORY,
  type Row,
  ratioOf,
  rowsOf,
  SUBJECT,
  targetsOf,
} from './report/summary.ts'
import { INDEXED, type Results, type ScenarioResult } from './results.ts'

/** Thrown if a run cannot be published, or if a page lacks the marks of the block for it. The message says why. */
export class NotPublished extends Error {}

export const PUBLISHED = 'bench/published.json'
const PICTURE = 'docs/images/bench.svg'
const BLOCK = /(<!-- bench:begin -->\n)[\s\S]*?(<!-- bench:end -->)/
/** Scenarios in the README. */
const SHOWN = ['one-by-id', 'new-lists', 'filter-sort']

/** A file of the project with figures of the published run; `textFor` updates its text. */
interface Page {
  readonly path: string
  textFor(results: Results, before: string): string
}

/** All files with figures of the published run. A test compares these files with the run. */
export const pages: readonly Page[] = [
  { path: 'README.md', textFor: (results, before) => withBlock(before, readmeBlock(results)) },
  { path: 'docs/benchmarks.md', textFor: (results, before) => withBlock(before, fullBlock(results)) },
  { path: PICTURE, textFor: (results) => ratePlot(plotted(results)) },
  { path: 'docs/images/bench-p99.svg', textFor: (results) => latencyPlot(plotted(results)) },
]

/** Publishes the run of this JSON file. Writes nothing if the run cannot be published. @throws NotPublished */
export function publish(file: string, root: string): void {
  const results = readResults(file)
  if (results.rows.areTogether) throw new NotPublished('the run is of rows whose properties go together')
  if (results.commit.endsWith('+')) throw new NotPublished(`the run is of ${results.commit}, a checkout with changes of its own`)
  const textOf = (path: string) => (path.endsWith('.svg') ? '' : readFileSync(join(root, path), 'utf8'))
  const texts = pages.map(({ path, textFor }) => [path, textFor(results, textOf(path))] as const)
  for (const [path, text] of [...texts, [PUBLISHED, readFileSync(file)] as const]) writeFileSync(join(root, path), text)
}

export function readResults(file: string): Results {
  try {
    const results = JSON.parse(readFileSync(file, 'utf8')) as Results
    if (!Array.isArray(results.scenarios) || typeof results.commit !== 'string') throw new Error('it is no run')
    return results
  } catch (error) {
    throw new NotPublished(`${file} cannot be read as a run: ${(error as Error).message}`)
  }
}

function withBlock(page: string, block: string): string {
  if (!BLOCK.test(page)) throw new NotPublished('a page must have <!-- bench:begin --> and, after it, <!-- bench:end -->')
  return page.replace(BLOCK, (_, begin: string, end: string) => begin + block + end)
}

/** Returns the text for the README: some scenarios with the best peers, and a chart of all programs in these scenarios. */
function readmeBlock(results: Results): string {
  const heads = ['requests/s', 'Roster', 'best peer', 'best peer with an index made for it', 'p99 of Roster, ms']
  const lines = shownOf(results).map(({ title, rows, subject }) => {
    const best = [isPeer, isIndexed].map((isMeant) => bestOf(rows, isMeant))
    const others = best.map((row) => (row ? `${rateText(row)} (${row.target.replace(INDEXED, '')})` : '–'))
    return [title, spreadText(subject), ...others, figureText(subject.p99Ms?.middle)]
  })
  return `${markdown(heads, lines)}
![Requests/s of Roster and its peers in these scenarios](${PICTURE})

${circumstances(results, PUBLISHED)}`
}

/** Returns the text of the full report: charts of some scenarios, and a table of all scenarios and peers. */
function fullBlock(results: Results): string {
  const peers = targetsOf(results).filter(isPeer)
  const shareOf = ({ targets }: ScenarioResult) => {
    const own = targets.find(({ target }) => target === SUBJECT)
    return own ? memoryShareOf(own) : null
  }
  // Earlier runs have not counted how lists were found.
  const more = results.scenarios.some((scenario) => shareOf(scenario) !== null) ? ['lists from memory, %'] : []
  const heads = ['requests/s', 'Roster', 'no memory', ...peers, 'vs. best peer', 'p99 of Roster, ms', ...more]
  const lines = results.scenarios.map((scenario) => {
    const rows = rowsOf(scenario)
    const rowOf = (target: string) => rows.find((row) => row.target === target)
    const subject = rowOf(SUBJECT)
    const [ratio, indexed] = [isPeer, isIndexed].map((isMeant) => ratioOf(subject, bestOf(rows, isMeant)))
    return [
      ...[scenario.title, subject?.void === null ? spreadText(subject) : cellOf(subject)],
      ...[NO_MEMORY, ...peers].map((target) => cellOf(rowOf(target))),
      `${ratioText(ratio)}${indexed ? ` (${ratioText(indexed)})` : ''}`,
      figureText(subject?.p99Ms?.middle),
      ...more.map(() => figureText(shareOf(scenario))),
    ]
  })
  const time = results.minutes === undefined ? '' : ` It took ${figureText(results.minutes)} minutes.`
  const versions = Object.entries(results.versions).map(([name, text]) => `${name}${text.includes(',') ? ':' : ''} ${text}`)
  return `![Requests/s of Roster and its peers](images/bench.svg)

![p99 of Roster and its peers](images/bench-p99.svg)

${markdown(heads, lines)}
In brackets: of requests/s, the least and the most of the rounds; of ratios, that to the best peer with an index made for the list.
${circumstances(results, '../bench/published.json')}
\`${results.command}\`.${time} ${versions.join('; ')}.
`
}

function ratioText(ratio: number | null | undefined): string {
  return ratio ? `${figureText(ratio)} ×` : '–'
}

function plotted(results: Results): { title: string; rows: Row[] }[] {
  return shownOf(results).map(({ title, rows }) => {
    return { title, rows: rows.filter(({ target }) => target === SUBJECT || isPeer(target) || isIndexed(target)) }
  })
}

/** Returns the scenarios of `SHOWN` with their figures. @throws NotPublished if the run lacks a scenario or its figures */
function shownOf(results: Results): (ScenarioResult & { rows: Row[]; subject: Row })[] {
  return SHOWN.map((name) => {
    const scenario = results.scenarios.find((found) => found.name === name)
    const rows = scenario ? rowsOf(scenario) : []
    const subject = rows.find(({ target }) => target === SUBJECT)
    if (!scenario || !subject) throw new NotPublished(`the run has no scenario ${name}`)
    if (subject.void !== null) throw new NotPublished(`the run has no figures for ${name}: ${subject.void}`)
    return { ...scenario, rows, subject }
  })
}

function circumstances({ machine, rows, date, commit, rounds, seconds, connections, workers }: Results, link: string): string {
  const load = `${figureText(rows.absences)} absences, ${connections} connections, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  return `Requests/s are the median of ${rounds} rounds of ${seconds} s, with the least and the most; ${load}.
Commit ${commit} on ${date.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores for server, PostgreSQL and load,
${machine.memoryGb} GB, ${machine.os}. [All figures as JSON](${link}).
`
}

/** Text of a cell: `void` if the figures do not count. */
function cellOf(row: Row | undefined): string {
  return row ? (row.void === null ? rateText(row) : 'void') : '–'
}

function markdown(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function rateText({ requestsPerSecond }: Row): string {
  return figureText(requestsPerSecond?.middle)
}

function spreadText(row: Row): string {
  const { least, greatest } = row.requestsPerSecond ?? {}
  return `${rateText(row)} (${figureText(least)}–${figureText(greatest)})`
}
