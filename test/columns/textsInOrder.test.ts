import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import { Slices } from '../../src/columns/slices.ts'
import { compileList } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import { Database } from '../../src/execute/database.ts'
import type { Property } from '../../src/model/entity.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { parseList } from '../../src/parse/list.ts'
import { findMember } from '../../src/parse/names.ts'
import { codeUnitTexts, copyBytes } from '../support/codeUnitOrder.ts'
import { faultsOf } from '../support/columnInvariants.ts'
import { findList, isUnsure } from '../support/columnLists.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { randomFilter } from '../support/randomFilter.ts'
import { idsOf, listOf, totalOf } from '../support/randomTable.ts'
import { firstSeed, rounds } from '../support/rounds.ts'
import { textStream } from '../support/textStream.ts'
import { storedValue } from '../support/values.ts'

const ROWS = 600
/** Decimals that all have a code. */
const DAYS = ['NaN', '-9.5', '-1', '-0.00000001', '0', '0.00000001', '0.1', '1', '2.5', '2.99999999', '3', '100', '9999999999']
const random = new Random(firstSeed)
const propertyOf = (name: string) => findMember(absence, name) as Property
const properties = ['status', 'type', 'reason', 'period.days', 'start'].map(propertyOf)
const textProperties = properties.filter(({ kind }) => kind.name === 'text')

let database: Database
let columns: ColumnTable
let rows: Row[]

beforeAll(async () => {
  const url = await createDatabase()
  const sql = connect(url)
  // Versions of Unicode differ in some letters of the last line, and the Greek ones end in either sigma.
  const odd = [
    ...['Straße', 'ΟΔΟΣ', 'οδοσήμανση', 'Yıldız', 'İnci', 'Łukasz', 'Søren', 'Ægir', 'Þórður', 'Griﬃn', 'Gal·la', 'GAĿLA'],
    ...[
      '이도윤',
      '임',
      '인',
      '\u110b\u1175',
      '\u110b\u1175\u11b7',
      'ガブ',
      'カフ',
      'カ\u3099',
      'ｶﾞ',
      'e\u0301\u0323',
      '👩\u200d🚀',
    ],
    ...['ᲐᲑ', 'აბ', '이\u11a7', 'ا\u0898\u0650', 'ا\u0650\u0898'],
  ]
  const own = () => (random.chance(30) ? random.pick(odd) : storedValue('text', random))
  const texts = () => (random.chance(10) ? null : random.chance(50) ? own() : `name ${random.below(300)}`)
  const made = Array.from({ length: ROWS }, () => ({
    status: random.pick(['Approved', 'Requested', '', null]),
    type: texts(),
    reason: texts(),
    period_days: random.chance(20) ? null : random.pick(DAYS),
    start: random.chance(20) ? null : storedValue('instant', random),
  }))
  const columnsMade = 'status text, type text, reason text, period_days numeric, start timestamptz'
  await sql.unsafe(
    `insert into absence (status, type, reason, period_days, start) select * from json_to_recordset($1) as made (${columnsMade})`,
    [made],
  )
  database = new Database({ url, poolSize: 2, prepare: true })
  rows = await allRows()
  const readOrder = ({ column }: Property) => textStream(sql, absence.table, column)
  columns = new ColumnTable(absence, ROWS, { database, slices: new Slices(), readOrder }, { has: () => true })
  for (const row of rows) columns.put(row)
})
afterAll(() => database.end())

async function allRows(): Promise<Row[]> {
  const all: Row[] = []
  for (let page = 1; all.length < ROWS; page++) all.push(...(await list([], [], page, 50)).rows)
  return all
}

async function list(filters: readonly Filter[], sorts: readonly Sort[], page: number, pageSize: number) {
  const answer = await database.read(
    compileList(absence, { ...parseList(wholeView(absence), ''), filters, sorts, page, pageSize }),
  )
  const found = answer.filter(([id]) => id !== null)
  const columns = absence.properties.length
  return { total: Number(answer[0]?.[columns] ?? 0), rows: found.map((row) => row.slice(0, columns)) }
}

function someFilter(): Filter {
  const property = random.pick(random.chance(70) ? textProperties : properties)
  return randomFilter(absence, property, random, () => random.pick(rows)[absence.properties.indexOf(property)] ?? null)
}

function randomSorts(): Sort[] {
  const sorted = new Map(random.times(2, () => [random.pick(properties), random.pick([false, true])]))
  return [...sorted].map(([property, descending]) => ({ property, descending }))
}

/** Lists of the columns that differ from PostgreSQL's. */
async function differences(count: number): Promise<unknown[]> {
  const found: unknown[] = []
  let matching = 0
  for (let number = 0; number < count; number++) {
    const [filters, sorts] = [random.times(2, someFilter), randomSorts()]
    const pageSize = 5 + random.below(46)
    const page = 1 + random.below(random.pick([1, 3, 20]))
    const expected = await list(filters, sorts, page, pageSize)
    const own = await findList(columns, listOf({ filters, sorts }, page, pageSize))
    const ids = expected.rows.map(([id]) => Number(id))
    // PostgreSQL returns the total with the rows of the page, so an empty page 1 has none.
    const total = page === 1 && ids.length === 0 ? 0 : expected.total
    matching += ids.length
    if (own === 'texts' && isUnsure({ filters })) continue
    if (typeof own !== 'string' && own.total === total && idsOf(own).join() === ids.join()) continue
    const shown = filters.map(({ property, operator, value }) => `${property.name}${operator.sign}${JSON.stringify(value)}`)
    found.push({
      shown,
      sorts: sorts.map(({ property, descending }) => `${property.name} ${descending}`),
      page,
      total,
      own: typeof own === 'string' ? own : [own.total, idsOf(own)],
      ids,
    })
  }
  expect(matching).toBeGreaterThan(count)
  return found
}

test('lists by any texts have the same totals and pages from columns as from PostgreSQL', async () => {
  expect(await differences(rounds(250, 3_000))).toEqual([])
})

test('lists by a text are left to PostgreSQL while a text has no rank, and are correct from columns afterwards', async () => {
  const type = absence.properties.indexOf(propertyOf('type'))
  for (const text of ['name 77 and a half', 'Name 77 and a half', 'ñame']) {
    const [before] = rows.splice(7, 1) as [Row]
    const after = before.with(type, text)
    await database.write({ text: 'update absence set type = $1 where id = $2', values: [text, before[0] as string] })
    columns.put(after)
    rows.push(after)
    const filters = [parseFilter(wholeView(absence), { name: 'Type', value: `<=${text}`, raw: '' })]
    const byType = listOf({ filters: [], sorts: [{ property: propertyOf('type'), descending: true }] })
    expect([totalOf(columns, filters), columns.lists.find(byType)]).toEqual(['texts', 'texts'])
    const found = await findList(columns, listOf({ filters, sorts: [] }))
    expect([text, typeof found === 'string' ? found : found.total]).toEqual([text, (await list(filters, [], 1, 5)).total])
  }
  expect(await differences(rounds(60, 500))).toEqual([])
  expect(faultsOf(columns)).toEqual([])
})

test('a text that begins with a byte order mark keeps it', () => {
  const mark = '\ufeffa'
  const table = new ColumnTable(
    absence,
    2,
    codeUnitTexts(() => []),
    { has: () => true },
  )
  // The second row has no code for its days, so it is read in another way.
  for (const [index, days] of ['1.00000000', '12345678901.12345678'].entries()) {
    const line = copyBytes([String(1 + index), null, null, null, mark, null, null, null, null, days, null])
    table.addLine(line, 0, line.length)
  }
  const { filters, sorts } = parseList(wholeView(absence), '')
  const found = table.lists.find(listOf({ filters, sorts })) as FoundPage
  const type = absence.properties.indexOf(propertyOf('type'))
  expect([0, 1].map((index) => found.rows.print(index, type))).toEqual([mark, mark])
  expect(totalOf(table, [parseFilter(wholeView(absence), { name: 'Type', value: `=${mark}`, raw: '' })])).toBe(2)
  expect(totalOf(table, [parseFilter(wholeView(absence), { name: 'Type', value: '=a', raw: '' })])).toBe(0)
})
