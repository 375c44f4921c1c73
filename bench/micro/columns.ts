// What lists cost that were never asked before, out of columns: `node src/launch.mjs bench/micro/columns.ts`.
import type { Change } from '../../src/changes/change.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Kernel } from '../../src/columns/kernel.ts'
import absence from '../../src/entities/absence.ts'
import { compilePredicate } from '../../src/model/predicate.ts'
import type { Filter } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { Random } from '../../test/support/random.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'

const ROWS = 1_000_000
/** Lines that are added at once. */
const LINES = 10_000
const PAGE_SIZE = 20
const DAY_MS = 86_400_000
const FIRST_MS = Date.parse('2021-01-01T09:00:00Z')
const DAYS = 1_500

const random = new Random(1)
const instantOf = (day: number) => new Date(FIRST_MS + day * DAY_MS).toISOString()
const printed = (day: number) => `${instantOf(day).slice(0, 19).replace('T', ' ')}+00`

/** As PostgreSQL prints it; with about as many different texts as a table of so many rows would have. */
function rowOf(id: number, rows: number): Row {
  const employee = 1 + random.below(rows / 5)
  const day = random.below(DAYS)
  const status = random.pick(['Requested', 'Approved', 'Declined', 'Cancelled'])
  const type = random.pick(['Holiday', 'Sickness', 'Training', 'Parental', 'Unpaid', 'Other'])
  return [
    ...[String(id), status, String(employee), `First${employee % 500} Last${employee}`, type],
    ...[random.pick(['Annual Leave', 'Flu', null]), printed(day), printed(day + random.below(10)), 'Days'],
    ...[`${random.below(20)}.${random.pick(['0', '5'])}0000000`, null],
  ]
}

const lineOf = (row: Row) => row.map((value) => value ?? '\\N').join('\t')

/** In 60 days of `Start`, another 60 each turn. */
const range = (turn: number) => `Start=>=${instantOf(turn % DAYS)}&Start=<${instantOf((turn % DAYS) + 60)}`

const lists: Record<string, (turn: number) => string> = {
  'a status and a range of dates, latest first': (turn) => `Status=Approved&${range(turn)}&sort=-Start`,
  'four conditions, latest first': (turn) =>
    `Status=!=Declined&Type=Holiday&Period.Days=>=2.5&${range(turn)}&sort=-Start`,
  'a status and an id': (turn) => `Status=Approved&Id=>=${1 + turn}`,
  'a status and an id, latest first': (turn) => `Status=Approved&Id=>=${1 + turn}&sort=-Start`,
  'all rows, by days': () => 'sort=Period.Days',
}

/** Of each list: its count, its first page and one in its middle; the same count by a loop; a change; a line of a load. */
export function columnCases(rows = ROWS): Case[] {
  const [table, clustered] = [0, 1].map(() => new ColumnTable(absence, new Kernel(2 ** 30))) as [
    ColumnTable,
    ColumnTable,
  ]
  const few: Row[] = []
  for (let id = 1; id <= rows; id++) {
    const row = rowOf(id, rows)
    if (id <= LINES) few.push(row)
    for (const one of [table, clustered]) one.add(row)
  }
  const byStart = clustered.clusters.begin(absence.properties.findIndex(({ column }) => column === 'start'))
  while (clustered.takeOver(byStart, LINES));
  const same = [...few]
  const name = `of ${rows} rows`
  return [
    ...Object.entries(lists).flatMap(([list, text]) => [
      ...listCases(`${list}, ${name}`, table, few, text),
      ...listCases(`${list}, ${name} by their start`, clustered, few, text).slice(0, -1),
    ]),
    { name: 'changes', operation: 'take', work: (turn) => table.take([changeOf(few, turn)]) },
    {
      name: 'changes of rows by their start',
      operation: 'take',
      work: (turn) => clustered.take([changeOf(same, turn)]),
    },
    ...loadCases(few),
  ]
}

function listCases(name: string, table: ColumnTable, few: readonly Row[], text: (turn: number) => string): Case[] {
  const filtersOf = (turn: number) => parseList(absence, text(turn))
  const pageAt = (turn: number, offset: number) => {
    const { filters, sorts } = filtersOf(turn)
    return table.page(filters, sorts, offset, PAGE_SIZE)
  }
  const middle = Math.floor((table.count(filtersOf(0).filters) as number) / 2)
  const loop = (filters: readonly Filter[]) => {
    const matches = compilePredicate(absence, filters) as (row: Row) => boolean
    return few.reduce((sum, row) => sum + Number(matches(row)), 0)
  }
  return [
    { name, operation: 'count', work: (turn) => table.count(filtersOf(turn).filters) },
    { name, operation: 'first page', work: (turn) => pageAt(turn, 0) },
    { name, operation: 'page in the middle', work: (turn) => pageAt(turn, middle) },
    { name, operation: `predicate on ${few.length} rows`, work: (turn) => loop(filtersOf(turn).filters) },
  ]
}

/** Its status changes, each turn of one row. */
function changeOf(few: Row[], turn: number): Change {
  const place = turn % few.length
  const before = few[place] as Row
  const after = before.map((value, at) => (at === 1 ? (value === 'Approved' ? 'Declined' : 'Approved') : value))
  few[place] = after
  return { transaction: turn, before, after }
}

function loadCases(few: readonly Row[]): Case[] {
  const lines = few.map(lineOf)
  const bytes = new TextEncoder().encode(lines.join('\n'))
  const kernel = new Kernel(2 ** 28)
  const name = `a load of ${few.length} rows`
  return [
    {
      name,
      operation: 'addLine',
      work: () => {
        const table = new ColumnTable(absence, kernel)
        for (let from = 0, to = 0; to < bytes.length; from = to + 1) {
          to = bytes.indexOf(10, from)
          if (to < 0) to = bytes.length
          table.addLine(bytes, from, to)
        }
        table.release()
        return table.rows
      },
    },
    {
      name,
      operation: 'add',
      work: () => {
        const table = new ColumnTable(absence, kernel)
        for (const row of few) table.add(row)
        table.release()
        return table.rows
      },
    },
  ]
}

if (import.meta.main) printCosts(await measure(columnCases(), ROUND_MS, ROUNDS))
