import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileList, compileRows } from '../../src/compile/list.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Seek } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let sql: postgres.Sql
let database: Database

beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
  await sql`insert into company (name, enabled) select
    (array['b', 'B', 'a', 'ä', 'z', null, ''])[1 + n % 7], n % 3 = 0 from generate_series(0, 33) as n`
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const compiled = (entity: Entity, query: string) => compileList(entity, parseList(entity, query))
/** What is sent when nothing else waits. */
const single = ({ text, values }: Statement) => ({ text, values })

async function listed(query: string): Promise<{ total: number; ids: number[] }> {
  const rows = await database.read(compiled(company, query))
  const ids = rows.filter((row) => row[1] !== null).map((row) => Number(row[1]))
  return { total: Number(rows[0]?.[0] ?? 0), ids }
}

/** What the list must be, said in the plainest SQL. */
async function expected(where: postgres.Fragment, orderBy: postgres.Fragment, size: number, page: number) {
  const rows = await sql`select id::int from company where ${where} order by ${orderBy}`
  const ids = rows.map(({ id }) => id as number)
  return { total: ids.length, ids: ids.slice((page - 1) * size, page * size) }
}

describe('page 1', () => {
  test('counts and reads in one statement', () => {
    expect(single(compiled(company, ''))).toEqual({
      text: 'select (select count(*) from "company") as "L", "id", "name", "enabled" from "company" order by "id" limit 20',
      values: [],
    })
  })

  test('filters both with the same parameters', () => {
    expect(single(compiled(company, 'Name=!=x&Id=>3&sort=-Name&PageSize=5'))).toEqual({
      text:
        'select (select count(*) from "company" where "name" is distinct from $1 and "id" > $2) as "L", ' +
        '"id", "name", "enabled" from "company" where "name" is distinct from $1 and "id" > $2 ' +
        'order by "name" desc, "id" desc limit 5',
      values: ['x', '3'],
    })
  })

  test('D24: "no value" takes no parameter and leaves the others in order', () => {
    const { text, values } = compiled(absence, 'Status=&Start=!=&Reason=a&Type=b')
    expect(text).toContain(
      `where ("status" is null or "status" = '') and "start" is not null and "reason" = $1 and "type" = $2`,
    )
    expect(values).toEqual(['a', 'b'])
  })
})

describe('in front of each row', () => {
  const text = (query: string) => compileList(company, parseList(company, query), 'totalAndSnapshot').text

  test('the total alone, or with the snapshot that it was counted under', () => {
    expect(text('Id=>3&PageSize=5')).toBe(
      `select (select count(*) || ' ' || pg_current_snapshot()::text from "company" where "id" > $1) as "L", ` +
        '"id", "name", "enabled" from "company" where "id" > $1 order by "id" limit 5',
    )
    expect(text('page=2')).toContain(
      `select "N" || ' ' || pg_current_snapshot()::text, "id", "name", "enabled" from total`,
    )
  })

  test('page 1 without the total: the snapshot', () => {
    expect(single(compileRows(company, parseList(company, 'Id=>3&PageSize=5')))).toEqual({
      text:
        'select (select pg_current_snapshot()::text) as "L", "id", "name", "enabled" from "company" ' +
        'where "id" > $1 order by "id" limit 5',
      values: ['3'],
    })
  })

  test('a batch of lists has the total, with the snapshot or without', () => {
    const narrow = parseList(absence, 'EmployeeId=3')
    expect(compileRows(absence, narrow)).toHaveProperty('batch', null)
    expect(compileList(absence, narrow).batch?.text).not.toContain('snapshot')
    expect(compileList(absence, narrow, 'totalAndSnapshot').batch?.text).toContain('pg_current_snapshot()')
  })
})

test('a later page has the rows to skip as its last parameter', () => {
  expect(compiled(company, 'Name=x&page=3&PageSize=5').values).toEqual(['x', '10'])
})

test('one shape is one text: other values, another spelling, another later page', () => {
  const text = compiled(company, 'Name=a&page=2').text
  expect(compiled(company, 'name=%62&page=900&PageSize=20').text).toBe(text)
  for (const other of [
    'Name=a',
    'Name=!=a&page=2',
    'Name=&page=2',
    'Name=a&page=2&PageSize=5',
    'Name=a&page=2&sort=Name',
  ])
    expect(compiled(company, other).text).not.toBe(text)
})

test('sorts of one property in either direction are different shapes', () => {
  expect(compiled(company, 'sort=Name').text).not.toBe(compiled(company, 'sort=-Name').text)
})

test('no value of a client is in any text', () => {
  const text = ['', '&page=2'].map((page) => compiled(company, `Name=secret&Id=!=424242${page}`).text).join()
  expect(text).not.toMatch(/secret|424242/)
})

describe('on the database', () => {
  const orders = () =>
    [
      ['', sql`id`],
      ['-Id', sql`id desc`],
      ['Name', sql`name collate "und-x-icu" asc nulls last, id`],
      ['-Name', sql`name collate "und-x-icu" desc nulls first, id desc`],
      ['-Enabled,Name', sql`enabled desc, name, id`],
      ['Enabled,-Name', sql`enabled, name desc, id desc`],
    ] as const

  test('D26: each page of each order has the rows that plain SQL has, from the nearer end too', async () => {
    for (const [sort, orderBy] of orders())
      for (let page = 1; page <= 7; page++) {
        const { ids } = await listed(`sort=${sort}&PageSize=5&page=${page}`)
        expect([sort, page, ids]).toEqual([sort, page, (await expected(sql`true`, orderBy, 5, page)).ids])
      }
  })

  const filters = () =>
    [
      ['Name=b', sql`name = 'b'`],
      ['Name=!=b', sql`name <> 'b' or name is null`],
      ['Name=', sql`name is null or name = ''`],
      ['Name=!=', sql`name <> ''`],
      ['Name=>b', sql`name > 'b' collate "und-x-icu"`],
      ['Name=<=ä', sql`name <= 'ä' collate "und-x-icu"`],
      ['Enabled=TRUE', sql`enabled`],
      ['Enabled=!=true', sql`not enabled`],
      ['Enabled=', sql`false`],
      ['Id=>5&Id=<=9', sql`id between 6 and 9`],
      ['Id=99999999999999999999999', sql`false`],
      ['Id=>-99999999999999999999999', sql`true`],
    ] as const

  test('filters find what plain SQL finds, and the total counts it, on first and later pages', async () => {
    for (const [filter, where] of filters())
      for (const page of [1, 2]) {
        const found = await listed(`${filter}&PageSize=5&page=${page}`)
        expect([filter, found]).toEqual([filter, await expected(where, sql`id`, 5, page)])
      }
  })

  test('D23: = and its complement return each row once', async () => {
    for (const value of ['b', 'ä', 'none', '']) {
      const [equal, others] = [await listed(`Name=${value}`), await listed(`Name=!=${value}`)]
      expect(equal.total + others.total).toBe(34)
    }
  })

  test('D26: text is compared as people order names', async () => {
    // After a, ä; the two Bs beside each other; z last: bytes would put B first and ä last.
    const rows = await database.read(compiled(company, 'Id=<=7&sort=Name&PageSize=10'))
    expect(rows.map((row) => row[2])).toEqual(['', 'a', 'ä', 'b', 'B', 'z', null])
  })

  test('D29: a page past the last is the total alone; page 1 of nothing no row', async () => {
    expect(await database.read(compiled(company, 'page=99'))).toEqual([['34', null, null, null]])
    expect(await database.read(compiled(company, 'page=999999999999999999999'))).toEqual([['34', null, null, null]])
    expect(await database.read(compiled(company, 'Name=none&page=2'))).toEqual([['0', null, null, null]])
    expect(await database.read(compiled(company, 'Name=none'))).toEqual([])
  })

  test('the rows and the total are the same whatever stands in front, on pages by number and by cursor', async () => {
    const seek: Seek = { side: 'behind', position: ['b', '8'] }
    for (const page of [
      parseList(company, 'sort=Name&PageSize=5'),
      parseList(company, 'sort=Name&PageSize=5&page=3'),
      parseList(company, 'sort=Name&PageSize=5&page=99'),
      { ...parseList(company, 'sort=Name&PageSize=5'), seek },
    ]) {
      const plain = await database.read(compileList(company, page))
      const both = await database.read(compileList(company, page, 'totalAndSnapshot'))
      expect(both.map((row) => row.slice(1))).toEqual(plain.map((row) => row.slice(1)))
      for (const [lead] of both) expect(lead).toMatch(/^34 \d+:\d+:[\d,]*$/)
      if (page.page > 1) continue
      const rows = await database.read(compileRows(company, page))
      expect(rows.map((row) => row.slice(1))).toEqual(plain.map((row) => row.slice(1)))
      for (const [lead] of rows) expect(lead).toMatch(/^\d+:\d+:[\d,]*$/)
    }
  })

  test('the snapshot is that of the rows beside it', async () => {
    const query = parseList(company, 'Name=new')
    let own: string | undefined
    const seenBy = async (snapshot: string | null | undefined) => {
      const text = 'select pg_visible_in_snapshot($1::xid8, $2::pg_snapshot)::text'
      return (await database.read({ text, values: [own ?? null, snapshot ?? null] }))[0]?.[0]
    }
    await sql.begin(async (transaction) => {
      const [row] = await transaction`
        insert into company (name) values ('new') returning pg_current_xact_id()::text as transaction`
      own = row?.transaction
      const [first] = await database.read(compileRows(company, parseList(company, '')))
      expect(await seenBy(first?.[0])).toBe('false')
      expect(await database.read(compileList(company, query, 'totalAndSnapshot'))).toEqual([])
    })
    const [counted] = await database.read(compileList(company, query, 'totalAndSnapshot'))
    const [total, snapshot] = counted?.[0]?.split(' ') ?? []
    expect([total, await seenBy(snapshot)]).toEqual(['1', 'true'])
    expect(await seenBy((await database.read(compileRows(company, query)))[0]?.[0])).toBe('true')
    await sql`delete from company where name = 'new'`
  })

  test('every property of every entity can be filtered with every operator and sorted by, on any page', async () => {
    const samples = { text: 'x', boolean: 'true', integer: '1', instant: '2024-01-01T00:00:00Z', decimal: '1.5' }
    for (const entity of [company, employee, absence])
      for (const { name, kind } of entity.properties) {
        const prefixes = kind.ordered ? ['=', '!=', '<', '<=', '>', '>='] : ['=', '!=']
        const sample = samples[kind.name as keyof typeof samples]
        const all = prefixes.map((prefix) => `${name}=${prefix}${sample}`).join('&')
        for (const page of [1, 2]) {
          const statement = compiled(entity, `${all}&${name}=&sort=-${name}&page=${page}`)
          const [first] = await database.read(statement)
          expect([name, first?.[0] ?? '0']).toEqual([name, '0'])
        }
      }
  })
})
