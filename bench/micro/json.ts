// What it costs to print absences: `node src/launch.mjs bench/micro/json.ts`. Beside it what others do with the same row:
// `JSON.stringify` of an object that is there already, and of one that is built first.
import absence from '../../src/entities/absence.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { writeEntity } from '../../src/respond/json.ts'
import { respondPage } from '../../src/respond/page.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'
import { absenceWithDates, absenceWithTexts } from './objects.ts'

/** Of the turn `n`. */
const typical = (n: number): Row => [
  ...[String(n), 'Approved', String(n + 70), `First${n} Last`, 'Holiday', 'Annual Leave'],
  ...[instant(n), instant(n + 2), 'Days', `${n % 20}.00000000`, null],
]

const ROWS = 64
const PAGE_SIZE = 20

export function jsonCases(): Case[] {
  return [
    ...rowCases('typical', typical),
    ...rowCases('full', (n) => fullRow(n, () => 'All that there is')),
    ...rowCases('empty', (n) => [String(n), ...fullRow(n, () => null).slice(1)]),
    ...rowCases('to be escaped', (n) => fullRow(n, () => `"Zoë" \\ ${n}\nnext line`)),
    ...pageCases(),
  ]
}

function rowCases(name: string, rowOf: (n: number) => Row): Case[] {
  const rows = Array.from({ length: ROWS }, (_, index) => rowOf(index + 1))
  const objects = rows.map(absenceWithTexts)
  const row = (turn: number) => rows[turn % ROWS] as Row
  return [
    { name, operation: 'writeEntity', work: (turn) => writeEntity(absence, row(turn)) },
    { name, operation: 'JSON.stringify', work: (turn) => JSON.stringify(objects[turn % ROWS]) },
    { name, operation: 'object, JSON.stringify', work: (turn) => JSON.stringify(absenceWithTexts(row(turn))) },
    {
      name,
      operation: 'object with Dates, JSON.stringify',
      work: (turn) => JSON.stringify(absenceWithDates(row(turn))),
    },
  ]
}

/** Links and headers included on our side, but not on the other. */
function pageCases(): Case[] {
  const rows = Array.from({ length: PAGE_SIZE }, (_, index): Row => ['1000', ...typical(index + 1)])
  const query = parseList(absence, `sort=-Id&page=7&PageSize=${PAGE_SIZE}`)
  const url = `http://127.0.0.1:3000/${absence.plural}`
  const name = `page of ${PAGE_SIZE}`
  return [
    { name, operation: 'respondPage', work: () => respondPage(absence, query, { rows, total: 1_000 }, url).body },
    {
      name,
      operation: 'objects, JSON.stringify',
      work: () => JSON.stringify(rows.map((row) => absenceWithTexts(row.slice(1)))),
    },
  ]
}

/** A value in every column; `text` for texts. A boolean has one even in an empty row. */
function fullRow(n: number, text: () => string | null): Row {
  const isEmpty = text() === null
  const values: Record<string, string | null> = {
    text: text(),
    boolean: 't',
    integer: isEmpty ? null : String(n),
    instant: isEmpty ? null : instant(n),
    decimal: isEmpty ? null : `${n}.12345678`,
  }
  return absence.properties.map(({ kind }) => values[kind.name] as string | null)
}

/** As PostgreSQL prints it. */
function instant(n: number): string {
  return `2024-01-${String(1 + (n % 28)).padStart(2, '0')} 09:00:00+00`
}

if (import.meta.main) printCosts(await measure(jsonCases(), ROUND_MS, ROUNDS))
