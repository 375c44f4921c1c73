// What lists cost that were never asked before, out of columns: `node src/launch.mjs bench/micro/columns.ts`.
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Kernel } from '../../src/columns/kernel.ts'
import absence from '../../src/entities/absence.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { Random } from '../../test/support/random.ts'
import { type Case, measure, printCosts } from './measure.ts'

const ROWS = 1_000_000
/** The rows lie by it. */
const START = absence.properties.findIndex(({ column }) => column === 'start')
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
  'four conditions, latest first': (turn) => `Status=!=Declined&Type=Holiday&Period.Days=>=2.5&${range(turn)}&sort=-Start`,
  'a status and an id': (turn) => `Status=Approved&Id=>=${1 + turn}`,
  'all rows, by id': () => '',
  'a status, by id': () => 'Status=Approved',
  'all rows, by days': () => 'sort=Period.Days',
}

/** Of each list: its count, its first page and one in its middle; a change of a row; a line of a load. */
export function columnCases(rows = ROWS): Case[] {
  const table = new ColumnTable(absence, new Kernel(2 ** 30), { orderedBy: START })
  const few: Row[] = []
  table.prepare(
    rows,
    Array.from({ length: 20_000 }, () => printed(random.below(DAYS))),
  )
  for (let id = 1; id <= rows; id++) {
    const row = rowOf(id, rows)
    if (id <= LINES) few.push(row)
    table.put(row)
  }
  return [
    ...Object.entries(lists).flatMap(([list, text]) => listCases(`${list}, of ${rows} rows`, table, text)),
    { name: 'changes', operation: 'put', work: (turn) => table.put(changeOf(few, turn)) },
    loadCase(few),
  ]
}

function listCases(name: string, table: ColumnTable, text: (turn: number) => string): Case[] {
  const filtersOf = (turn: number) => parseList(absence, text(turn))
  const pageAt = (turn: number, offset: number) => {
    const { filters, sorts } = filtersOf(turn)
    return table.page(filters, sorts, offset, PAGE_SIZE)
  }
  const middle = Math.floor((pageAt(0, 0)?.total as number) / 2)
  return [
    { name, operation: 'first page', work: (turn) => pageAt(turn, 0) },
    { name, operation: 'page in the middle', work: (turn) => pageAt(turn, middle) },
  ]
}

/** Its status changes, each turn of one row. */
function changeOf(few: Row[], turn: number): Row {
  const place = turn % few.length
  const before = few[place] as Row
  const after = before.map((value, at) => (at === 1 ? (value === 'Approved' ? 'Declined' : 'Approved') : value))
  few[place] = after
  return after
}

function loadCase(few: readonly Row[]): Case {
  const bytes = new TextEncoder().encode(few.map(lineOf).join('\n'))
  const load = () => {
    const table = new ColumnTable(absence, new Kernel(2 ** 28), { orderedBy: START })
    for (let from = 0, to = 0; to < bytes.length; from = to + 1) {
      to = bytes.indexOf(10, from)
      if (to < 0) to = bytes.length
      table.addLine(bytes, from, to)
    }
    return table.rows
  }
  return { name: `a load of ${few.length} rows`, operation: 'addLine', work: load }
}

if (import.meta.main) printCosts(measure(columnCases()))
