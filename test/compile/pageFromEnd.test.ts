import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileList } from '../../src/compile/list.ts'
import { compilePageFromEnd } from '../../src/compile/pageFromEnd.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { insertRows } from '../support/randomRows.ts'

const ROWS = 120
const SNAPSHOT = /^\d+:\d+:[\d,]*$/

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

describe('rows from an end', () => {
  const query = parseList(company, 'Id=>3&sort=Name&PageSize=5')
  const all = (keys: string, reach: number) =>
    `select id from (select "name", "id" from "company" where "id" > $1 order by ${keys} limit ${reach}) as near order by ${keys}`

  test('ids first, then the rows, beside the snapshot', () => {
    const { text, values } = compilePageFromEnd(company, query, 'first', 10, 5)
    expect(text).toBe(
      'with page as (select * from "company" where id = any (array(' +
        `${all('"name", "id"', 512)} limit $2 offset $3))) ` +
        'select "S", "id", "name", "enabled" from (select pg_current_snapshot()::text as "S") as seen ' +
        'left join page on true order by "name", "id"',
    )
    expect(values).toEqual(['3', '5', '10'])
  })

  test('from the last, in the opposite order', () => {
    expect(compilePageFromEnd(company, query, 'last', 10, 5).text).toContain(all('"name" desc, "id" desc', 512))
  })

  test('a limit shows the planner how far it goes, by a power of two, so that the texts are few', () => {
    for (const [skip, size, reach] of [
      [0, 5, 512],
      [507, 5, 512],
      [508, 5, 1_024],
      [4_096, 50, 8_192],
      [500_000, 50, 2 ** 19],
    ] as const)
      expect(compilePageFromEnd(company, query, 'first', skip, size).text).toContain(all('"name", "id"', reach))
  })

  test('one text for all values, and no value of a client in it', () => {
    const secret = parseList(company, 'Name=secret&Id=!=424242')
    const other = parseList(company, 'Name=x&Id=!=1')
    const { text } = compilePageFromEnd(company, secret, 'last', 424, 20)
    expect(text).not.toMatch(/secret|4242/)
    expect(compilePageFromEnd(company, other, 'last', 7, 3).text).toBe(text)
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

  for (let round = 0; round < 25; round++) {
    const query = `sort=${randomSort()}&${random.pick(FILTERS)}`
    test(`rows from either end, some left out, are those of the list: ${query}`, async () => {
      const whole = await listed(query)
      const parsed = parseList(absence, query)
      for (let time = 0; time < 12; time++) {
        const end = random.pick(['first', 'last'] as const)
        const [skip, size] = [random.chance(10) ? 10_000 : random.below(ROWS), random.below(20)]
        const from = end === 'first' ? whole : whole.toReversed()
        const expected = from.slice(skip, skip + size)
        const found = await database.read(compilePageFromEnd(absence, parsed, end, skip, size))
        const rows: Row[] = found.map((row) => row.slice(1))
        const inOrder: Row[] = end === 'first' ? expected : expected.reverse()
        expect({ end, skip, size, rows }).toEqual({ end, skip, size, rows: inOrder.length > 0 ? inOrder : [nothing] })
        for (const row of found) expect([row.length, row[0]]).toEqual([1 + width, expect.stringMatching(SNAPSHOT)])
      }
    })
  }
})
