import { columnsLines } from './report/columns.ts'
import { figureText } from './report/figure.ts'
import { isIndexed, isPeer, NO_CACHE, type Row, type Section, SUBJECT, summarise, targetsOf } from './report/summary.ts'
import { type ColumnsRound, fileNameOf, INDEXED, type Results } from './results.ts'

/** A run that is not fit to be published, or a page without a place for it; the message says why. */
export class NotPublished extends Error {}

/** Where the published run lies, from the project's root. */
export const FOLDER = 'bench/published'
/** What the head of the group says is not said in each of its rows. */
const NEW = /^never asked before: /
/** What stands where nothing was measured. */
const ABSENT = '–'

/** The scenarios that the README shows, by what the server can know of them before it is asked. */
const GROUPS: readonly (readonly [title: string, scenarios: readonly string[]])[] = [
  ['Never asked before', ['new-lists', 'new-lists-random-pages', 'new-conditions', 'new-lists-under-writes']],
  ['Another one each time', ['one-by-id', 'different-lists', 'random-pages']],
  ['Asked again', ['filter-sort', 'page-20000-sorted', 'lists-under-writes']],
]

/** @throws NotPublished where the run lacks a scenario that the README shows, or its figures */
export function requireShown(results: Results): void {
  const sections = sectionsOf(results)
  for (const name of GROUPS.flatMap(([, names]) => names)) measured(name, sections.get(name))
}

/**
 * What the README shows of this run: some scenarios in groups. A group of which the run has nothing is left out: it was
 * measured before there were such scenarios. @throws NotPublished
 */
export function speedBlock(results: Results): string {
  requireClean(results)
  const sections = sectionsOf(results)
  const groups = GROUPS.filter(([, names]) => names.some((name) => sections.has(name)))
  const tables = groups.map(([title, names]) =>
    tableOf(
      title,
      names.map((name) => measured(name, sections.get(name))),
    ),
  )
  return `${tables.join('\n')}\n${circumstances(results, FOLDER)}`
}

/** What docs/benchmarks.md shows of this run: every scenario, beside every peer. @throws NotPublished */
export function allBlock(results: Results): string {
  requireClean(results)
  const peers = targetsOf(results).filter(isPeer)
  const duels = ['vs. best peer', ...(targetsOf(results).some(isIndexed) ? ['vs. best with its index'] : [])]
  const heads = ['', 'Roster', 'no cache', ...peers, ...duels, 'p50, p99 ms', 'CPU µs: server, PostgreSQL']
  const lines = summarise(results).map((section) => lineOf(section, peers, duels.length > 1))
  const columns = results.columns ? `\n${columnsText(results.columns, results.rows)}` : ''
  const table = `${markdown(heads, lines)}${columns}`
  return `\`${results.command}\`. ${versionsText(results)}.\n\n${table}\n${circumstances(results, `../${FOLDER}`)}`
}

/** What a table in columns costs, as a table of its own. */
function columnsText(rounds: readonly ColumnsRound[], rows: Results['rows']): string {
  const lines = columnsLines(rounds, rows).map(({ what, figure }) => {
    const spread = figure && ` (${figureText(figure.least)}–${figureText(figure.greatest)})`
    return [what, figure ? figureText(figure.middle) + spread : ABSENT]
  })
  return markdown(['Absences in columns', 'Roster'], lines)
}

/** A peer's versions are several. */
function versionsText({ versions }: Results): string {
  const texts = Object.entries(versions).map(([name, text]) => `${name}${text.includes(',') ? ':' : ''} ${text}`)
  return texts.join('; ')
}

function requireClean({ commit }: Results): void {
  if (commit.endsWith('+')) throw new NotPublished(`the run is of ${commit}, a checkout with changes of its own`)
}

/** `folder`: of the published run, as a link from the page. */
function circumstances(results: Results, folder: string): string {
  const { machine, rows, date, commit, rounds, seconds, connections, workers } = results
  const load = `${figureText(rows.absences)} absences, ${connections} connections, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  const path = `${folder}/${fileNameOf(results)}`
  return `Requests/s: the median of ${rounds} rounds of ${seconds} s, and the least and the most; ${load}.
One run of commit ${commit} on ${date.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores for server, PostgreSQL and load,
${machine.memoryGb} GB, ${machine.os}. [All its figures](${path}.html), [as JSON](${path}.json).
`
}

function sectionsOf(results: Results): Map<string, Section> {
  return new Map(summarise(results).map((section) => [section.scenario.name, section]))
}

/** Roster's row of a scenario, with those that it is compared with. */
function measured(name: string, section: Section | undefined): Section & { readonly subject: Row } {
  const subject = section?.rows.find(({ target }) => target === SUBJECT)
  if (!section || !subject) throw new NotPublished(`the run has no scenario ${name}`)
  if (subject.void !== null) throw new NotPublished(`the run has no figures for ${name}: ${subject.void}`)
  return { ...section, subject }
}

function tableOf(title: string, sections: readonly ReturnType<typeof measured>[]): string {
  const hasIndexed = sections.some(({ subject }) => subject.toBestIndexed !== null)
  const others = ['best peer', ...(hasIndexed ? ['best peer with an index made for it'] : [])]
  const heads = [title, 'Roster', 'without the list cache', ...others, 'p99 ms']
  const lines = sections.map(({ scenario, rows, subject }) => {
    const noCache = rows.find(({ target }) => target === NO_CACHE)
    const duels = [subject.toBestPeer, ...(hasIndexed ? [subject.toBestIndexed] : [])]
    const best = duels.map((duel) => rows.find(({ target }) => target === duel?.peer))
    const title = scenario.title.replace(NEW, '')
    const peers = best.map((row) => (row ? `${rateText(row)} (${row.target.replace(INDEXED, '')})` : ABSENT))
    return [title, spreadText(subject), cellOf(noCache), ...peers, figureText(subject.p99Ms ?? 0)]
  })
  return markdown(heads, lines)
}

function lineOf({ scenario, rows }: Section, peers: readonly string[], hasIndexed: boolean): string[] {
  const rowOf = (target: string) => rows.find((row) => row.target === target)
  const subject = rowOf(SUBJECT)
  const duels = [subject?.toBestPeer, ...(hasIndexed ? [subject?.toBestIndexed] : [])]
  const [p50, p99] = [subject?.p50Ms, subject?.p99Ms].map(optional)
  const [server, postgres] = [subject?.serverCpuUs, subject?.postgresCpuUs].map(optional)
  return [
    scenario.title,
    subject && subject.void === null ? spreadText(subject) : cellOf(subject),
    ...[NO_CACHE, ...peers].map((target) => cellOf(rowOf(target))),
    ...duels.map((duel) => (duel ? `${figureText(duel.ratio)} ×` : ABSENT)),
    `${p50}, ${p99}`,
    `${server}, ${postgres}`,
  ]
}

/** `void`: its figures do not count. */
function cellOf(row: Row | undefined): string {
  if (!row) return ABSENT
  return row.void === null ? rateText(row) : 'void'
}

function optional(value: number | null | undefined): string {
  return value === null || value === undefined ? ABSENT : figureText(value)
}

function markdown(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function rateText({ requestsPerSecond }: Row): string {
  return figureText(requestsPerSecond?.middle ?? 0)
}

function spreadText(row: Row): string {
  const { least = 0, greatest = 0 } = row.requestsPerSecond ?? {}
  return `${rateText(row)} (${figureText(least)}–${figureText(greatest)})`
}
