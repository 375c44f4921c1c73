// What it costs to print rows: `node src/launch.mjs bench/micro/json.ts`. Beside it what others do with the same row:
// `JSON.stringify` of an object that is there already, and of one that is built first.
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { writeEntity } from '../../src/respond/json.ts'
import { respondPage } from '../../src/respond/page.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'
import { withDates, withTexts } from './objects.ts'

type Build = (row: Row) => object

/** An entity with what others need to print it. */
interface Printed {
  readonly entity: Entity
  readonly build: Build
  readonly buildWithDates: Build
  /** Of the turn `n`. */
  readonly typical: (n: number) => Row
}

const printed: readonly Printed[] = [
  {
    entity: company,
    build: withTexts.Company,
    buildWithDates: withDates.Company,
    typical: (n) => [String(n), `Company ${n}`, n % 3 === 0 ? 't' : 'f'],
  },
  {
    entity: absence,
    build: withTexts.Absence,
    buildWithDates: withDates.Absence,
    typical: (n) => [
      ...[String(n), 'Approved', String(n + 70), `First${n} Last`, 'Holiday', 'Annual Leave'],
      ...[instant(n), instant(n + 2), 'Days', `${n % 20}.00000000`, null],
    ],
  },
  {
    entity: employee,
    build: withTexts.Employee,
    buildWithDates: withDates.Employee,
    // Half of the properties, as they are used.
    typical: (n) => [
      ...[String(n), `E${n}`, null, `First${n}`, null, 'Last', null, `First${n} Last`, `first${n}@example.com`],
      ...[null, null, String(n + 7), `Company ${n}`, 'Production', null, 'Utrecht', 'Engineer', null],
      ...[null, null, 'FullTime', 'Current', instant(n), instant(n), null, null],
    ],
  },
]

const ROWS = 64
const PAGE_SIZE = 20

export function jsonCases(): Case[] {
  return printed.flatMap((each) => {
    const { entity, typical } = each
    return [
      ...rowCases(each, 'typical', typical),
      ...rowCases(each, 'full', (n) => fullRow(entity, n, () => 'All that there is')),
      ...rowCases(each, 'empty', (n) => [String(n), ...fullRow(entity, n, () => null).slice(1)]),
      ...rowCases(each, 'to be escaped', (n) => fullRow(entity, n, () => `"Zoë" \\ ${n}\nnext line`)),
      ...pageCases(each),
    ]
  })
}

function rowCases({ entity, build, buildWithDates }: Printed, content: string, rowOf: (n: number) => Row): Case[] {
  const rows = Array.from({ length: ROWS }, (_, index) => rowOf(index + 1))
  const objects = rows.map(build)
  const row = (turn: number) => rows[turn % ROWS] as Row
  const name = `${entity.name}, ${content}`
  return [
    { name, operation: 'writeEntity', work: (turn) => writeEntity(entity, row(turn)) },
    { name, operation: 'JSON.stringify', work: (turn) => JSON.stringify(objects[turn % ROWS]) },
    { name, operation: 'object, JSON.stringify', work: (turn) => JSON.stringify(build(row(turn))) },
    { name, operation: 'object with Dates, JSON.stringify', work: (turn) => JSON.stringify(buildWithDates(row(turn))) },
  ]
}

/** Links and headers included on our side, but not on the other. */
function pageCases({ entity, build, typical }: Printed): Case[] {
  const rows = Array.from({ length: PAGE_SIZE }, (_, index): Row => ['1000', ...typical(index + 1)])
  const query = parseList(entity, `sort=-Id&page=7&PageSize=${PAGE_SIZE}`)
  const url = `http://127.0.0.1:3000/${entity.plural}`
  const name = `${entity.name}, page of ${PAGE_SIZE}`
  return [
    { name, operation: 'respondPage', work: () => respondPage(entity, query, { rows, total: 1_000 }, url).body },
    {
      name,
      operation: 'objects, JSON.stringify',
      work: () => JSON.stringify(rows.map((row) => build(row.slice(1)))),
    },
  ]
}

/** A value in every column; `text` for texts. A boolean has one even in an empty row. */
function fullRow({ properties }: Entity, n: number, text: () => string | null): Row {
  const isEmpty = text() === null
  const values: Record<string, string | null> = {
    text: text(),
    boolean: 't',
    integer: isEmpty ? null : String(n),
    instant: isEmpty ? null : instant(n),
    decimal: isEmpty ? null : `${n}.12345678`,
  }
  return properties.map(({ kind }) => values[kind.name] as string | null)
}

/** As PostgreSQL prints it. */
function instant(n: number): string {
  return `2024-01-${String(1 + (n % 28)).padStart(2, '0')} 09:00:00+00`
}

if (import.meta.main) printCosts(await measure(jsonCases(), ROUND_MS, ROUNDS))
