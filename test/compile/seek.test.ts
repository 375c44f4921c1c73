import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileList, compileRows } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import type { Entity } from '../../src/model/entity.ts'
import { order } from '../../src/model/order.ts'
import type { Seek } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { insertRows } from '../support/randomRows.ts'

const SNAPSHOT = expect.stringMatching(/^\d+:\d+:/)

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
  await insertRows(sql, new Random(7), 'Employees', 8)
  await insertRows(sql, new Random(7), 'Absences', 60)
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const sought = (entity: Entity, query: string, seek: Seek) => ({ ...parseList(entity, query), seek })

describe('the statement', () => {
  test('has a branch for each range behind, each with its own limit', () => {
    const seek: Seek = { side: 'behind', position: ['b', '7'] }
    const { text, values } = compileRows(company, sought(company, 'Id=>3&sort=Name&PageSize=5', seek))
    const branch = (range: string) =>
      `(select * from "company" where "id" > $1 and ${range} order by "name", "id" limit 6)`
    const ranges = ['("name", "id") > ($2, $3)', '"name" is null']
    const near = `select * from (${ranges.map(branch).join(' union all ')}) as near order by "name", "id" limit 6`
    expect(text).toBe(
      `with first ("L") as materialized (select pg_current_snapshot()::text), page as (${near}) ` +
        'select "L", "id", "name", "enabled" from first left join page on true order by "name", "id"',
    )
    expect(values).toEqual(['3', 'b', '7'])
  })

  const rangesOf = (sort: string, seek: Seek) =>
    [...compileRows(company, sought(company, `sort=${sort}`, seek)).text.matchAll(/ where (.*?) order by/g)].map(
      ([, range]) => range?.replaceAll('"', ''),
    )

  test.each([
    ['Name', 'behind', 'b', ['(name, id) > ($1, $2)', 'name is null']],
    ['Name', 'behind', null, ['name is null and id > $1']],
    ['Name', 'before', 'b', ['(name, id) < ($1, $2)']],
    ['Name', 'before', null, ['name is not null', 'name is null and id < $1']],
    ['-Name', 'behind', 'b', ['(name, id) < ($1, $2)']],
    ['-Name', 'behind', null, ['name is not null', 'name is null and id < $1']],
    ['-Name', 'before', 'b', ['(name, id) > ($1, $2)', 'name is null']],
    ['-Name', 'before', null, ['name is null and id > $1']],
    ['Enabled', 'behind', 'f', ['(enabled, id) > ($1, $2)']],
    ['-Enabled', 'behind', 't', ['(enabled, id) < ($1, $2)']],
    ['-Enabled,-Id', 'behind', 't', ['(enabled, id) < ($1, $2)']],
    ['-Name,Id', 'behind', 'b', ['name < $1', '(name, id) > ($1, $2) and name <= $1']],
    ['-Name,Id', 'behind', null, ['name is not null', 'name is null and id > $1']],
    ['-Name,Id', 'before', 'b', ['name > $1', 'name is null', '(name, id) < ($1, $2) and name >= $1']],
    ['Name,-Id', 'behind', 'b', ['name > $1', 'name is null', '(name, id) < ($1, $2) and name >= $1']],
  ] as const)('D26: by %s %s %p', (sort, side, value, ranges) => {
    expect(rangesOf(sort, { side, position: [value, '7'] })).toEqual([...ranges])
  })

  test('by several properties a branch is a list filtered by the first of them', () => {
    expect(rangesOf('Enabled,-Name', { side: 'behind', position: ['f', 'b', '7'] })).toEqual([
      ...['enabled > $1', 'enabled = $1 and (name, id) < ($2, $3)'],
    ])
    expect(rangesOf('Name,-Enabled', { side: 'before', position: [null, 't', '7'] })).toEqual([
      ...['name is not null', 'name is null and (enabled, id) > ($1, $2)'],
    ])
  })

  test('behind the id nothing counts', () => {
    expect(rangesOf('-Id,Name', { side: 'behind', position: ['7'] })).toEqual(['id < $1'])
  })

  test('is one for all positions with values in the same places', () => {
    const text = (position: (string | null)[]) =>
      compileList(absence, sought(absence, 'sort=Reason,-Start', { side: 'before', position })).text
    expect(text(['a', null, '1'])).toBe(text(['', null, '77']))
    expect(
      new Set(
        [
          ['a', 'b', '1'],
          ['a', null, '1'],
          [null, 'b', '1'],
          [null, null, '1'],
        ].map(text),
      ).size,
    ).toBe(4)
  })

  test('a position of another sort is a fault of ours', () => {
    expect(() => compileRows(company, sought(company, '', { side: 'before', position: ['a', '7'] }))).toThrow()
  })
})

describe('on the database', () => {
  /** As PostgreSQL sorts the whole table, with every column as the driver gives it. */
  async function plainly(query: string): Promise<Row[]> {
    const parsed = parseList(absence, query)
    const rows: Row[] = []
    for (let page = 1; rows.length === 0 || page <= Math.ceil(Number(rows[0]?.[0]) / 50); page++)
      rows.push(...(await database.read(compileList(absence, { ...parsed, pageSize: 50, page }))))
    return rows.filter((row) => row[1] !== null)
  }

  test.each([
    '',
    'sort=-Id',
    'sort=Reason',
    'sort=-Reason',
    'sort=Period.Days,-Start',
    'sort=-Start,-Reason,Period.Hours',
    'sort=-EmployeeId,Status,-Type',
    'sort=Employee,-Period.Prefered&Reason=!=a&Period.Days=<7',
    'sort=-Status&Start=!=',
    'sort=-Reason,Id',
    'sort=Status,-Id',
    'sort=-Status,Reason,-Id',
  ])('beside any row are the rows that are beside it in the whole list, and one more: %s', async (query) => {
    const whole = await plainly(query)
    const total = String(whole.length)
    expect(whole.length).toBeGreaterThan(5)
    const keys = order(absence, parseList(absence, query).sorts)
    for (const [index, row] of whole.entries()) {
      const position = keys.map(({ property }) => row[1 + absence.properties.indexOf(property)] as string | null)
      const expected = {
        behind: whole.slice(index + 1, index + 7),
        before: whole.slice(Math.max(index - 6, 0), index),
      }
      for (const side of ['behind', 'before'] as const) {
        const asked = sought(absence, `${query}&PageSize=5`, { side, position })
        const [rows, counted] = [
          await database.read(compileRows(absence, asked)),
          await database.read(compileList(absence, asked)),
        ]
        const nothing: Row = [null, ...absence.properties.map(() => null)]
        const found = expected[side].length > 0 ? expected[side] : [nothing]
        const withLead = (lead: unknown) => found.map((one) => [lead, ...one.slice(1)])
        expect({ side, position, rows }).toEqual({ side, position, rows: withLead(SNAPSHOT) as Row[] })
        expect(counted).toEqual(withLead(total) as Row[])
      }
    }
  })
})
