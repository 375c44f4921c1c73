import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { FoldedTexts } from '../../src/columns/foldedTexts.ts'
import { Kernel } from '../../src/columns/kernel.ts'
import { Slices } from '../../src/columns/slices.ts'
import { TextRanks } from '../../src/columns/textRanks.ts'
import { compileList } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import { Database } from '../../src/execute/database.ts'
import type { Property } from '../../src/model/entity.ts'
import { isSurelyFolded } from '../../src/model/fold.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseFilter } from '../../src/parse/filter.ts'
import { parseList } from '../../src/parse/list.ts'
import { findMember } from '../../src/parse/names.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { randomFilter } from '../support/randomFilter.ts'
import { idsOf, totalOf } from '../support/randomTable.ts'
import { firstSeed, rounds } from '../support/rounds.ts'
import { storedValue } from '../support/values.ts'

const ROWS = 600
/** Of each there is a code. */
const DAYS = ['NaN', '-9.5', '-1', '-0.00000001', '0', '0.00000001', '0.1', '1', '2.5', '2.99999999', '3', '100', '9999999999']
const random = new Random(firstSeed)
const propertyOf = (name: string) => findMember(absence, name) as Property
const properties = ['status', 'type', 'reason', 'period.days', 'start'].map(propertyOf)
const textProperties = properties.filter(({ kind }) => kind.name === 'text')

let database: Database
let columns: ColumnTable
let ranks: ReadonlyMap<Property, TextRanks>
let folded: ReadonlyMap<Property, FoldedTexts>
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
  await sql.end()
  database = new Database({ url, poolSize: 2, prepare: true })
  rows = await allRows()
  columns = new ColumnTable(absence, new Kernel(64 * 2 ** 20))
  for (const row of rows) columns.put(row)
  ranks = new Map(
    textProperties.map((property) => [property, new TextRanks(absence, property, columns.textsOf(property), database)]),
  )
  folded = new Map(textProperties.map((property) => [property, new FoldedTexts(columns.textsOf(property), database)]))
})
afterAll(() => database.end())

async function allRows(): Promise<Row[]> {
  const all: Row[] = []
  for (let page = 1; all.length < ROWS; page++) all.push(...(await list([], [], page, 50)).rows)
  return all
}

async function list(filters: readonly Filter[], sorts: readonly Sort[], page: number, pageSize: number) {
  const answer = await database.read(compileList(absence, { ...parseList(absence, ''), filters, sorts, page, pageSize }))
  const found = answer.filter(([id]) => id !== null)
  const columns = absence.properties.length
  return { total: Number(answer[0]?.[columns] ?? 0), rows: found.map((row) => row.slice(0, columns)) }
}

/** Gives the columns what they have to know of texts, as a list does that asks them. */
async function boundsOf(filters: readonly Filter[]): Promise<Map<Filter, number | number[]>> {
  const bounds = new Map<Filter, number | number[]>()
  for (const filter of filters) {
    const { property, operator } = filter
    const value = filter.value as string
    if (operator.folded) {
      const texts = folded.get(property)
      await texts?.prepare(filter, (steps) => new Slices().run({ key: '', request: new Request('http://localhost') }, steps))
      const codes = texts?.find(filter)
      if (codes) bounds.set(filter, codes)
    } else if (ranks.has(property) && /[<>]/.test(operator.sign)) {
      await ranks.get(property)?.boundOf(value)
      bounds.set(filter, ranks.get(property)?.knownBound(value) as number)
    }
  }
  return bounds
}

async function rank(): Promise<void> {
  for (const [property, of] of ranks) {
    await of.extend()
    columns.useRanks(property, of.ranks)
  }
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
    const bounds = await boundsOf(filters)
    const pageSize = 5 + random.below(46)
    const page = 1 + random.below(random.pick([1, 3, 20]))
    const expected = await list(filters, sorts, page, pageSize)
    const counted = totalOf(columns, filters, bounds)
    const own = columns.page(filters, sorts, (page - 1) * pageSize, pageSize, bounds)
    const ids = expected.rows.map(([id]) => Number(id))
    // Page 1 of nothing is no row, so its total is not there either.
    const total = page === 1 && ids.length === 0 ? 0 : expected.total
    matching += ids.length
    const isUnsure = filters.some(({ operator, value }) => operator.folded && !isSurelyFolded(value as string))
    if (isUnsure && counted === null && own === null) continue
    if (counted === total && own?.total === total && idsOf(own).join() === ids.join()) continue
    const shown = filters.map(({ property, operator, value }) => `${property.name}${operator.sign}${JSON.stringify(value)}`)
    found.push({
      shown,
      sorts: sorts.map(({ property, descending }) => `${property.name} ${descending}`),
      page,
      counted,
      total,
      own: own && idsOf(own),
      ids,
    })
  }
  expect(matching).toBeGreaterThan(count)
  return found
}

describe('columns with the ranks of texts', () => {
  test('have the totals and pages of PostgreSQL, by any texts', async () => {
    await rank()
    expect(await differences(rounds(250, 3_000))).toEqual([])
  })

  test('say nothing of the order while a text has no rank, and are right again when it has one', async () => {
    const [before] = rows.splice(7, 1) as [Row]
    const after = before.map((value, place) => (absence.properties[place] === propertyOf('type') ? 'name 77 and a half' : value))
    const filter = parseFilter(absence, { name: 'Type', value: '<=name 77 and a half', raw: '' })
    await database.write({
      text: 'update absence set type = $1 where id = $2',
      values: ['name 77 and a half', before[0] as string],
    })
    columns.put(after)
    rows.push(after)
    const bounds = await boundsOf([filter])
    const sorts: Sort[] = [{ property: propertyOf('type'), descending: true }]
    expect(totalOf(columns, [filter], bounds)).toBeNull()
    expect(columns.page([], sorts, 0, 20)).toBeNull()
    await rank()
    expect(totalOf(columns, [filter], await boundsOf([filter]))).toBe((await list([filter], [], 1, 5)).total)
    expect(await differences(rounds(60, 500))).toEqual([])
  })
})

test('a text that begins with a byte order mark keeps it', () => {
  const mark = '\ufeffa'
  const table = new ColumnTable(absence, new Kernel(64 * 2 ** 20))
  const lineOf = (id: number, type: string, days: string) =>
    new TextEncoder().encode([id, '\\N', '\\N', '\\N', type, '\\N', '\\N', '\\N', '\\N', days, '\\N'].join('\t'))
  // The second row has no code for its days, so it is read in another way.
  for (const [index, days] of ['1.00000000', '1234567890.12345678'].entries()) {
    const line = lineOf(1 + index, mark, days)
    table.addLine(line, 0, line.length)
  }
  const texts = table.textsOf(propertyOf('type'))
  expect(Array.from({ length: texts.size - 2 }, (_, index) => texts.text(2 + index))).toEqual([mark])
  expect(totalOf(table, [parseFilter(absence, { name: 'Type', value: `=${mark}`, raw: '' })])).toBe(2)
  expect(totalOf(table, [parseFilter(absence, { name: 'Type', value: '=a', raw: '' })])).toBe(0)
})
