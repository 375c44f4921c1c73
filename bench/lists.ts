// Measures lists in one process, without HTTP and PostgreSQL: `npm run bench:lists`. No list is requested twice.
import { Command, Option } from 'commander'
import absence from '../src/entities/absence.ts'
import type { ListQuery } from '../src/model/query.ts'
import { wholeView } from '../src/model/view.ts'
import { parseList } from '../src/parse/list.ts'
import { type Kind, kindsFor, NEW_RANGE } from './kinds.ts'
import { type Absences, makeAbsences } from './lists/absences.ts'
import { openClock } from './lists/clock.ts'
import { type FoundList, loadTable, type MeasuredTable } from './lists/table.ts'
import { requestSource } from './load/requests.mjs'
import { numberIn, readCommand } from './options.ts'
import { figureText } from './report/summary.ts'

const command = new Command('bench:lists')
  .description('Measures the time to find total and page of lists in memory, in microseconds, in one process.')
  .option('--rows <n>', 'absences', numberIn(1_000, 20_000_000, true), 1_000_000)
  .option('--lists <n>', 'of each kind that are measured', numberIn(10, 100_000, true), 400)
  .option('--before <n>', 'lists of another kind before those of a kind', numberIn(0, 1_000_000, true), 20_000)
  .option('--changes <n>', 'changed rows', numberIn(0, 100_000, true), 2_000)
  .option('--memory <mb>', 'of the table', numberIn(16, 4_096, true), 2_000)
  .addOption(
    new Option('--rows-are <kind>', 'whose properties are so').choices(['independent', 'together', 'both']).default('both'),
  )
  .option('--only <names>', 'these kinds, comma-separated', 'all')
const options = readCommand(command, process.argv.slice(2)) as {
  readonly rows: number
  readonly lists: number
  readonly before: number
  readonly changes: number
  readonly memory: number
  readonly rowsAre: string
  readonly only: string
}

const PAGE_SIZE = 50
/** Number of lists in a row that memory must find before the first measured list, and maximum wait for them in ms. */
const WARM_LISTS = 200
const SETTLE_MS_MAX = 20_000
const NAME_WIDTH = 16
const CELL_WIDTH = 20

const clock = openClock()
/** Number of measured lists by the way in which memory found them, or by the reason why memory did not find them. */
let ways = new Map<string, number>()

/** Time of lists in µs, and how many of them PostgreSQL would have to find. */
interface Measured {
  readonly mean: number
  readonly p99: number
  readonly refused: number
}

/** Draws queries of a kind. Each query differs from all previous ones. */
type Draw = (count: number) => ListQuery[]

const all = kindsOfProcess()
const kinds = chosenOf(all)
const draws = new Map(all.map((kind, index) => [kind.name, drawer(kind, index)]))
for (const areTogether of [false, true]) {
  const name = areTogether ? 'together' : 'independent'
  if (options.rowsAre === 'both' || options.rowsAre === name) await measureRows(makeAbsences(options.rows, areTogether), name)
}

function kindsOfProcess(): readonly Kind[] {
  const { rows } = options
  const ids = `Id=%3E{1..${Math.round(0.9 * rows)}!}`
  const kind = (name: string, query: string): Kind => ({ name, title: name, query })
  return [
    ...kindsFor({ absences: rows, employees: Math.floor(rows / 5), companies: 1 }),
    kind('long-range', 'Status=Approved&Start=%3E%3D{2016-01-01..2024-01-01}&Start=%3C{600d..601d}&sort=-Start'),
    kind('range-by-days', `Status=Approved&${NEW_RANGE}&sort=-Period.Days`),
    kind('wide-codes', 'Status=Approved&End=%3E{2016-01-01..2025-11-01}&sort=-End'),
    kind('no-value', `Status=&${ids}&sort=-Start`),
    kind('not', `Status=!%3DApproved&${ids}&sort=-Start`),
    kind('any-of', `Status[]=Approved&Status[]=Declined&${ids}&sort=-Start`),
    kind('two-sorts', `Status=Approved&${ids}&sort=Period.Days,-Start`),
  ]
}

function chosenOf(all: readonly Kind[]): readonly Kind[] {
  if (options.only === 'all') return all
  const wanted = options.only.split(',')
  const unknown = wanted.find((name) => !all.some((kind) => kind.name === name))
  if (unknown) command.error(`error: there is no kind ${unknown}; there are ${all.map(({ name }) => name).join(', ')}`)
  return all.filter(({ name }) => wanted.includes(name))
}

function drawer({ query }: Kind, seed: number): Draw {
  const draw = requestSource([{ method: 'GET', path: `${query}&PageSize=${PAGE_SIZE}`, status: 200 }], seed)
  return (count) => draw(count).map(({ path }) => parseList(wholeView(absence), path))
}

async function measureRows(absences: Absences, name: string) {
  ways = new Map()
  const startUs = clock.nowUs()
  const table = loadTable(absence, absences.count, options.memory * 2 ** 20, absences.addAll)
  const ms = Math.round((clock.nowUs() - startUs) / 1_000)
  console.log(`\n${figureText(absences.count)} absences, ${name}: made and loaded in ${ms} ms, ${megabytes(table)}`)
  await checkAll(table, absences)
  const heads = ['alone', 'after others', 'beside others'].map((head) => head.padStart(CELL_WIDTH))
  console.log(`${'mean (p99), µs'.padEnd(NAME_WIDTH)}${heads.join('')}   of ${clock.name}`)
  const alone = new Map<string, Measured>()
  for (const kind of kinds) alone.set(kind.name, await measureKind(table, kind))
  const after = new Map<string, Measured>()
  for (const kind of kinds) {
    const other = kind.name === 'employee' ? 'range' : 'employee'
    for (const query of draws.get(other)?.(options.before) ?? []) table.find(query)
    after.set(kind.name, measureAll(table, drawn(kind, options.lists)))
  }
  const beside = measureBeside(table)
  for (const { name } of kinds) {
    const cells = [alone, after, beside].map((found) => cellOf(found.get(name) as Measured).padStart(CELL_WIDTH))
    console.log(`${name.padEnd(NAME_WIDTH)}${cells.join('')}`)
  }
  console.log(`found by: ${[...ways].map(([way, lists]) => `${way} ${figureText(lists)}`).join(', ')}`)
  await measureChanges(table, absences)
}

function drawn({ name }: Kind, count: number): ListQuery[] {
  return (draws.get(name) as Draw)(count)
}

/** Requests lists until memory finds all of them, because indexes are built between lists. Then measures. */
async function measureKind(table: MeasuredTable, kind: Kind): Promise<Measured> {
  const untilMs = performance.now() + SETTLE_MS_MAX
  for (let found = 0; found < WARM_LISTS && performance.now() < untilMs; ) {
    for (const query of drawn(kind, 10)) found = isFound(table.find(query)) ? found + 1 : 0
    await table.indexesBuilt()
  }
  return measureAll(table, drawn(kind, options.lists))
}

function measureAll(table: MeasuredTable, queries: readonly ListQuery[]): Measured {
  return measuredOf(queries.map((query) => timeOf(table, query)))
}

/** Measures all kinds in turns: one list of each kind, again and again. */
function measureBeside(table: MeasuredTable): Map<string, Measured> {
  const queries = kinds.map((kind) => drawn(kind, options.lists))
  const times = kinds.map((): number[] => [])
  for (let number = 0; number < options.lists; number++)
    for (const [index, own] of queries.entries()) times[index]?.push(timeOf(table, own[number] as ListQuery))
  return new Map(kinds.map(({ name }, index) => [name, measuredOf(times[index] ?? [])]))
}

/** Returns the time in µs, or -1 if PostgreSQL would have to find the list. */
function timeOf(table: MeasuredTable, query: ListQuery): number {
  const startUs = clock.nowUs()
  const found = table.find(query)
  const us = clock.nowUs() - startUs
  if (isFound(found)) count(found.way ?? 'memory')
  else count(found)
  return isFound(found) ? us : -1
}

function isFound(found: FoundList | string): found is FoundList {
  return typeof found !== 'string'
}

function count(way: string) {
  ways.set(way, (ways.get(way) ?? 0) + 1)
}

function measuredOf(times: readonly number[]): Measured {
  const found = times.filter((us) => us >= 0).sort((one, other) => one - other)
  const mean = found.reduce((sum, us) => sum + us, 0) / found.length
  return { mean, p99: found[Math.floor(0.99 * found.length)] ?? Number.NaN, refused: times.length - found.length }
}

function cellOf({ mean, p99, refused }: Measured): string {
  const figures = `${figureText(mean)} (${figureText(p99)})`
  return refused > 0 ? `${figures} ${refused} not` : figures
}

/** Changes random rows, with all indexes in use, and compares lists again. */
async function measureChanges(table: MeasuredTable, absences: Absences) {
  const { changes } = options
  if (changes === 0) return
  const rows = Array.from({ length: changes }, () => absences.change(Math.floor(Math.random() * absences.count)))
  const times = rows.map((row) => {
    const startUs = clock.nowUs()
    table.put(row)
    return clock.nowUs() - startUs
  })
  console.log(
    `${'a changed row'.padEnd(NAME_WIDTH)}${cellOf(measuredOf(times)).padStart(CELL_WIDTH)}, ${megabytes(table)} afterwards`,
  )
  await checkAll(table, absences)
}

/** Compares a list of each kind with a plain search. @throws Error at the first difference */
async function checkAll(table: MeasuredTable, absences: Absences) {
  for (const kind of kinds) {
    const [query] = drawn(kind, 1) as [ListQuery]
    const found = table.find(query)
    await table.indexesBuilt()
    if (!isFound(found)) continue
    const ids = Array.from({ length: found.rows.length }, (_, index) => Number(found.rows.print(index, 0)))
    const expected = absences.search(query)
    if (found.total !== expected.total || String(ids) !== String(expected.ids))
      throw new Error(`${kind.name}: ${query.queryWithoutPaging}&page=${query.page} has ${found.total} rows, ids ${ids}; \
a plain search finds ${expected.total}, ids ${expected.ids}`)
  }
}

function megabytes({ bytes }: MeasuredTable): string {
  return `${figureText(bytes / 1e6)} MB`
}
