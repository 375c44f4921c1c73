import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { figureText } from './report/figure.ts'
import { writePage } from './report/page.ts'
import { type Row, type Section, SUBJECT, summarise } from './report/summary.ts'
import { fileNameOf, type Results } from './results.ts'

/** A run that is not fit for the README, or a README without a place for it; the message says why. */
export class NotPublished extends Error {}

const FOLDER = 'bench/published'
const BEGIN = '<!-- bench:begin -->'
const END = '<!-- bench:end -->'
const BLOCK = new RegExp(`${BEGIN}\n([\\s\\S]*?)${END}`, 'g')
const NO_CACHE = 'no-cache'

/** The scenarios that the README shows, by what the list cache can do for them. */
const GROUPS: readonly (readonly [title: string, scenarios: readonly string[]])[] = [
  ['Never asked before', ['one-by-id', 'different-lists', 'random-pages']],
  ['Asked again', ['filter-sort', 'page-20000-sorted', 'lists-under-writes']],
]

/**
 * Makes the run of this JSON file the published one: the file and its page lie in bench/published, alone, and the README
 * shows its figures between two markers. Nothing is written where the run is not fit.
 * @throws NotPublished
 */
export function publish(file: string, root: string): void {
  const results = readResults(file)
  const readme = join(root, 'README.md')
  const text = replaceBlock(readFileSync(readme, 'utf8'), speedBlock(results))
  const folder = join(root, FOLDER)
  const json = readFileSync(file)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const path = join(folder, fileNameOf(results))
  writeFileSync(`${path}.json`, json)
  writeFileSync(`${path}.html`, writePage(results))
  writeFileSync(readme, text)
}

/** What stands in the README between the markers, for this run. @throws NotPublished */
export function speedBlock(results: Results): string {
  const { machine, rows, date, commit, rounds, seconds, connections, workers } = results
  if (commit.endsWith('+')) throw new NotPublished(`the run is of ${commit}, a checkout with changes of its own`)
  const sections = new Map(summarise(results).map((section) => [section.scenario.name, section]))
  const tables = GROUPS.map(([title, names]) =>
    tableOf(
      title,
      names.map((name) => measured(name, sections.get(name))),
    ),
  )
  const load = `${figureText(rows.absences)} absences, ${connections} connections, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
  const path = `${FOLDER}/${fileNameOf(results)}`
  return `${tables.join('\n')}
Requests/s: the median of ${rounds} rounds of ${figureText(seconds)} s, and the least and the most; ${load}.
One run of commit ${commit} on ${date.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores for server, PostgreSQL and load,
${figureText(machine.memoryGb)} GB, ${machine.os}. [All its figures](${path}.html), [as JSON](${path}.json).
`
}

/** The text between the markers; null where there are none. */
export function blockOf(readme: string): string | null {
  return [...readme.matchAll(BLOCK)][0]?.[1] ?? null
}

function replaceBlock(readme: string, block: string): string {
  if ([...readme.matchAll(BLOCK)].length !== 1)
    throw new NotPublished(`README.md must have one line ${BEGIN}, and after it one line ${END}`)
  return readme.replace(BLOCK, () => `${BEGIN}\n${block}${END}`)
}

/** The published run; null where there is none. @throws Error where there are several */
export function publishedRun(root: string): Results | null {
  const folder = join(root, FOLDER)
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
  if (files.length > 1) throw new Error(`${FOLDER} has ${files.length} runs`)
  return files[0] === undefined ? null : readResults(join(folder, files[0]))
}

function readResults(file: string): Results {
  try {
    const results = JSON.parse(readFileSync(file, 'utf8')) as Results
    if (!Array.isArray(results.scenarios) || typeof results.commit !== 'string') throw new Error('it is no run')
    return results
  } catch (error) {
    throw new NotPublished(`${file} cannot be read as a run: ${(error as Error).message}`)
  }
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
    const noCache = rows.find(({ target, void: reason }) => target === NO_CACHE && reason === null)
    const peer = best ? `${rateText(best)} (${best.target})` : '–'
    return [
      scenario.title,
      spreadText(subject),
      noCache ? rateText(noCache) : '–',
      peer,
      figureText(subject.p99Ms ?? 0),
    ]
  })
  return [heads, heads.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function rateText({ requestsPerSecond }: Row): string {
  return figureText(requestsPerSecond?.middle ?? 0)
}

function spreadText(row: Row): string {
  const { least = 0, greatest = 0 } = row.requestsPerSecond ?? {}
  return `${rateText(row)} (${figureText(least)}–${figureText(greatest)})`
}
