import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileAnchors, compileFromAnchor } from '../../src/compile/anchors.ts'
import { compileList } from '../../src/compile/list.ts'
import type { Start } from '../../src/compile/seek.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { order, type Position } from '../../src/model/order.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { insertRows } from '../support/randomRows.ts'

const ROWS = 120
const SNAPSHOT = /^\d+:\d+:[\d,]*$/
const START: Start = { side: 'behind', position: null }
const END: Start = { side: 'before', position: null }

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
  await insertRows(sql, new Random(11), 'Employees', 8)
  await insertRows(sql, new Random(11), 'Absences', ROWS)
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

describe('rows from a start', () => {
  const query = parseList(company, 'Id=>3&sort=Name&PageSize=5')

  test('ids first, then the rows, beside the snapshot', () => {
    const { text, values } = compileFromAnchor(company, query, { side: 'behind', position: ['b', '7'] }, 10, 5)
    const branch = (range: string) =>
      `(select "name", "id" from "company" where "id" > $1 and ${range} order by "name", "id" limit 512)`
    const near = ['("name", "id") > ($2, $3)', '"name" is null'].map(branch).join(' union all ')
    expect(text).toBe(
      'with page as (select * from "company" where id = any (array(' +
        `select id from (${near}) as near order by "name", "id" limit $4 offset $5))) ` +
        'select "S", "id", "name", "enabled" from (select pg_current_snapshot()::text as "S") as seen ' +
        'left join page on true order by "name", "id"',
    )
    expect(values).toEqual(['3', 'b', '7', '5', '10'])
  })

  test('without a position: from the end of the list on that side', () => {
    const near = (start: Start) =>
      /array\((.*?) limit \$/.exec(compileFromAnchor(company, query, start, 10, 5).text)?.[1]
    const all = (keys: string) =>
      `select id from ((select "name", "id" from "company" where "id" > $1 order by ${keys} limit 512)) ` +
      `as near order by ${keys}`
    expect(near(START)).toBe(all('"name", "id"'))
    expect(near(END)).toBe(all('"name" desc, "id" desc'))
  })

  test('a limit shows the planner how far it goes, by a power of two, so that the texts are few', () => {
    const limits = (skip: number, size: number) =>
      new Set([...compileFromAnchor(company, query, END, skip, size).text.matchAll(/ limit (\d+)/g)].map(([, n]) => n))
    for (const [skip, size, reach] of [
      [0, 5, '512'],
      [507, 5, '512'],
      [508, 5, '1024'],
      [1_024, 50, '2048'],
      [4_096, 50, '8192'],
    ] as const)
      expect([skip, size, ...limits(skip, size)]).toEqual([skip, size, reach])
  })

  test('one text for all values, and no value of a client in it', () => {
    const secret = parseList(company, 'Name=secret&Id=!=424242')
    const other = parseList(company, 'Name=x&Id=!=1')
    const start: Start = { side: 'before', position: ['424242'] }
    const { text } = compileFromAnchor(company, secret, start, 424, 20)
    expect(text).not.toMatch(/secret|4242/)
    expect(compileFromAnchor(company, other, { ...start, position: ['1'] }, 7, 3).text).toBe(text)
    expect(compileAnchors(company, secret, 256).text).not.toMatch(/secret|4242/)
    expect(compileAnchors(company, other, 256).text).toBe(compileAnchors(company, secret, 256).text)
  })
})

test('notes: every so many rows of the numbered list, the snapshot in the first one', () => {
  expect(compileAnchors(company, parseList(company, 'Id=>3&sort=-Name'), 256)).toEqual({
    text:
      'select case when "N" = 256 then pg_current_snapshot()::text end, "name", "id" from (' +
      'select "name", "id", row_number() over (order by "name" desc, "id" desc) as "N" from "company" where "id" > $1' +
      ') as numbered where "N" % 256 = 0 order by "N"',
    values: ['3'],
  })
})

describe('on the database', () => {
  const width = absence.properties.length
  const nothing: Row = absence.properties.map(() => null)
  const FILTERS = ['', 'Type=!=a', 'Start=!=', 'Reason=>b', 'Period.Days=<7', 'EmployeeId=!=1&Status=!=', 'Status=none']
  const random = new Random(12)

  function randomSort(): string {
    const properties = random.times(3, () => random.pick(absence.properties))
    return properties.map(({ name }) => (random.chance(50) ? '-' : '') + name).join()
  }

  /** The whole list, as the plain statement has it. */
  async function listed(query: string): Promise<Row[]> {
    const rows = await database.read(compileList(absence, { ...parseList(absence, query), pageSize: ROWS }))
    return rows.map((row) => row.slice(1))
  }

  function positionsOf(query: string, rows: readonly Row[]): Position[] {
    const keys = order(absence, parseList(absence, query).sorts)
    return rows.map((row) => keys.map(({ property }) => row[absence.properties.indexOf(property)] as string | null))
  }

  for (let round = 0; round < 25; round++) {
    const query = `sort=${randomSort()}&${random.pick(FILTERS)}`
    test(`rows from any start, some left out, are those of the list: ${query}`, async () => {
      const whole = await listed(query)
      const positions = positionsOf(query, whole)
      const parsed = parseList(absence, query)
      const cases = Array.from({ length: 12 }, () => ({
        // -1: from the end of the list.
        at: random.below(whole.length + 1) - 1,
        isBehind: random.chance(50),
        skip: random.chance(10) ? 10_000 : random.below(30),
        size: random.below(20),
      }))
      for (const { at, isBehind, skip, size } of cases) {
        const start: Start = { side: isBehind ? 'behind' : 'before', position: positions[at] ?? null }
        const from = isBehind ? whole.slice(at + 1) : whole.slice(0, at === -1 ? whole.length : at).reverse()
        const expected = from.slice(skip, skip + size)
        const found = await database.read(compileFromAnchor(absence, parsed, start, skip, size))
        const rows: Row[] = found.map((row) => row.slice(1))
        const inOrder: Row[] = isBehind ? expected : expected.reverse()
        expect({ start, skip, size, rows }).toEqual({
          start,
          skip,
          size,
          rows: inOrder.length > 0 ? inOrder : [nothing],
        })
        for (const row of found) expect([row.length, row[0]]).toEqual([1 + width, expect.stringMatching(SNAPSHOT)])
      }
    })

    test(`notes are every so many rows of the list: ${query}`, async () => {
      const positions = positionsOf(query, await listed(query))
      for (const step of [1, 7, 50, ROWS, ROWS + 1]) {
        const rows = await database.read(compileAnchors(absence, parseList(absence, query), step))
        const noted: Row[] = rows.map((row) => row.slice(1))
        expect(noted).toEqual(positions.filter((_, index) => (index + 1) % step === 0))
        const [first, ...others] = rows.map(([snapshot]) => snapshot)
        if (rows.length > 0) expect(first).toMatch(SNAPSHOT)
        expect(others.filter((snapshot) => snapshot !== null)).toEqual([])
      }
    })
  }
})
