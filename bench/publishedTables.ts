import { figureText } from './report/figure.ts'
import { isPeer, NO_CACHE, type Row, type Section, SUBJECT, summarise, targetsOf } from './report/summary.ts'
import { fileNameOf, type Results } from './results.ts'

/** A run that is not fit to be published, or a page without a place for it; the message says why. */
export class NotPublished extends Error {}

/** Where the published run lies, from the project's root. */
export const FOLDER = 'bench/published'
/** What stands where nothing was measured. */
const ABSENT = '–'

/** The scenarios that the README shows, by what the list cache can do for them. */
const GROUPS: readonly (readonly [title: string, scenarios: readonly string[]])[] = [
  ['Never asked before', ['one-by-id', 'different-lists', 'random-pages']],
  ['Asked again', ['filter-sort', 'page-20000-sorted', 'lists-under-writes']],
]

/** What the README shows of this run: six scenarios in two groups. @throws NotPublished */
export function speedBlock(results: Results): string {
  requireClean(results)
  const sections = new Map(summarise(results).map((section) => [section.scenario.name, section]))
  const tables = GROUPS.map(([title, names]) =>
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
  const heads = ['', 'Roster', 'no cache', ...peers, 'vs. best peer', 'p50, p99 ms', 'CPU µs: server, PostgreSQL']
  const lines = summarise(results).map((section) => lineOf(section, peers))
  return `\`${results.command}\`. ${versionsText(results)}.\n\n${markdown(heads, lines)}\n${circumstances(results, `../${FOLDER}`)}`
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

/** Roster's row of a scenario, with those that it is compared with. */
function measured(name: string, section: Section | undefined): Section & { readonly subject: Row } {
  const subject = section?.rows.find(({ target }) => target === SUBJECT)
  if (!section || !subject) throw new NotPublished(`the run has no scenario ${name}`)
  if (subject.void !== null) throw new NotPublished(`the run has no figures for ${name}: ${subject.void}`)
  return { ...section, subject }
}

function tableOf(title: string, sections: readonly ReturnType<typeof measured>[]): string {
  const heads = [title, 'Roster', 'without the list cache', 'best peer', 'p99 ms']
  const lines = sections.map(({ scenario, rows, subject }) => {
    const best = rows.find(({ target }) => target === subject.toBestPeer?.peer)
    const noCache = rows.find(({ target }) => target === NO_CACHE)
    const peer = best ? `${rateText(best)} (${best.target})` : ABSENT
    return [scenario.title, spreadText(subject), cellOf(noCache), peer, figureText(subject.p99Ms ?? 0)]
  })
  return markdown(heads, lines)
}

function lineOf({ scenario, rows }: Section, peers: readonly string[]): string[] {
  const rowOf = (target: string) => rows.find((row) => row.target === target)
  const subject = rowOf(SUBJECT)
  const best = subject?.toBestPeer
  const [p50, p99] = [subject?.p50Ms, subject?.p99Ms].map(optional)
  const [server, postgres] = [subject?.serverCpuUs, subject?.postgresCpuUs].map(optional)
  return [
    scenario.title,
    subject && subject.void === null ? spreadText(subject) : cellOf(subject),
    ...[NO_CACHE, ...peers].map((target) => cellOf(rowOf(target))),
    best ? `${figureText(best.ratio)} ×` : ABSENT,
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
