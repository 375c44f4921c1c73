import { beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { load, restore, rowsFor } from '../../bench/data.ts'
import type { Operation } from '../../bench/operation.ts'
import { checkAnswers } from '../../bench/reference.ts'
import { useDatabase } from '../support/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const rows = rowsFor(1_000)

const { url: databaseUrl } = useDatabase()
/** A database with the same rows, until a test plants a difference. */
const { url: otherUrl, sql: other } = useDatabase()
beforeAll(async () => {
  for (const url of [databaseUrl, otherUrl]) await load(url, rows)
})
const server = useServer({ databaseUrl })

const get = (path: string, status = 200): Operation => ({ method: 'GET', path, status })
const asked = (key = KEY) => ({ name: 'roster', urls: [server.url], headers: { Authorization: `ApiKey ${key}` } })
const check = (...paths: string[]) =>
  checkAnswers(
    [asked()],
    otherUrl,
    paths.map((path) => get(path)),
  )

test('the check of answers accepts the answers of the server', () =>
  check(
    '/Absences/{1..1000}',
    '/Companies/{1..80}', // half of these rows do not exist
    '/Absences?Status=Approved&sort=-Start&PageSize=50',
    '/Absences?Start=%3E%3D2020-01-01T00:00:00Z&Start=%3C2021-01-01T00:00:00Z&sort=-Start&PageSize=50',
    '/Absences?EmployeeId={1..200}',
    '/Absences?page={2..60}',
    '/Absences?sort=Period.Days,-End',
    '/Absences?Period.Days=>2.5&Type=Holiday&PageSize=75',
    '/Absences?Period.Hours=>=16&Type=!=Holiday&Start=>={2017-01-01..2024-01-01}&Start=<{60d..400d}&sort=-Start',
    '/Employees?sort=-Manager&DisplayName=>=M',
    "/Employees?LastName=O'Brien",
  ))

test('loaded rows have the requested number, are the same after each load, and can be restored completely', async () => {
  expect(rows).toEqual({ absences: 1_000, employees: 200, companies: 40 })
  const contents = async (sql: postgres.Sql) => {
    const sums = ['company', 'employee', 'absence'].map((table) =>
      sql.unsafe(`select count(*)::int, md5(string_agg(t::text, chr(10) order by id)) as rows from ${table} as t`),
    )
    return (await Promise.all(sums)).map(([sum]) => sum)
  }
  const fresh = await createDatabase()
  await load(fresh, rows)
  const first = connect(fresh)
  const before = await contents(other)
  expect(await contents(first)).toEqual(before)
  await first.end()
  expect(before.map((sum) => sum?.count)).toEqual([40, 200, 1_000])
  await other`update company set name = 'Bench' where id < 20`
  await other`insert into employee (first_name) values ('Ada')`
  expect(await contents(other)).not.toEqual(before)
  await restore(otherUrl, rows)
  expect(await contents(other)).toEqual(before)
  const [added] = await other`insert into employee (first_name) values ('Ada') returning id::int`
  expect(added?.id).toBe(201)
  await restore(otherUrl, rows)
})

test('in rows with correlated properties, the start of an absence grows with its id, and restore() undoes changes', async () => {
  const together = rowsFor(1_000, true)
  const url = await createDatabase()
  await load(url, together)
  const sql = connect(url)
  const figures = () => sql`
    select count(start)::int as starts, count(period_hours)::int as hours, corr(id, extract(epoch from start)) > 0.99 as grow,
      bool_and(period_hours = 7.5 * period_days) as are_of_days, min("end" - start) >= interval '0' as end_later,
      bool_and(start between '2016-01-01Z' and '2026-01-01Z') as are_in_range
    from absence`
  const [first] = await figures()
  expect(first).toMatchObject({ grow: true, are_of_days: true, end_later: true, are_in_range: true })
  const [independent] = await other`select count(start)::int as starts from absence`
  expect(first?.starts).toBe(independent?.starts)
  await sql`update absence set start = '2016-01-01Z' where id > 900`
  await restore(url, together)
  expect((await figures())[0]).toEqual(first)
  await sql.end()
})

describe('the check of answers', () => {
  for (const [what, write, path, message] of [
    ['of a value', `update absence set reason = 'Planted' where id = 7`, '/Absences', 'id 7, reason: the server says'],
    ['of a property in an object', 'update absence set period_hours = 99 where id = 7', '/Absences/7', 'id 7, period_hours:'],
    ['of an instant', 'update absence set "end" = \'2030-01-01Z\' where id = 7', '/Absences', 'id 7, end: the server says'],
    ['of a total', 'insert into absence default values', '/Absences', 'X-Total-Count: the server says "1000"'],
    ['of an order', `update absence set start = '2010-01-01Z' where id = 900`, '/Absences?sort=Start', 'ids: the server says'],
    ['of a copied name', `update company set name = 'Zz' where id = 7`, '/Employees?sort=-Company', 'ids: the server says'],
    [
      'of a row that the server does not find',
      'insert into company default values',
      '/Companies/41',
      'status: the server says 404',
    ],
  ] as const)
    test(`finds a difference ${what}`, async () => {
      await other.unsafe(write)
      await expect(check('/Employees/1', path)).rejects.toThrow(`GET ${path} is answered wrongly by roster: ${message}`)
      await restore(otherUrl, rows)
      await check(path)
    })
})
