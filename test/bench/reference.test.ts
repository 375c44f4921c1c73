import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { load } from '../../bench/data/load.ts'
import { Progress } from '../../bench/data/progress.ts'
import { restore } from '../../bench/data/restore.ts'
import { rowsFor } from '../../bench/data/table.ts'
import { followLinks } from '../../bench/links.ts'
import type { Operation } from '../../bench/operation.ts'
import { checkAnswers } from '../../bench/reference.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { KEY, startServer, type TestServer } from '../support/server.ts'

const rows = rowsFor(1_000)

let server: TestServer
/** Has the same rows as the server's, until a test plants a difference. */
let otherUrl: string
let other: postgres.Sql
beforeAll(async () => {
  const urls = [await createDatabase(), await createDatabase()] as const
  for (const url of urls) await load(url, rows, new Progress({ write: () => undefined }))
  server = await startServer({ databaseUrl: urls[0] })
  otherUrl = urls[1]
  other = connect(otherUrl)
})
afterAll(async () => {
  await server.stop()
  await other.end()
})

const get = (path: string, status = 200): Operation => ({ method: 'GET', path, status })
const asked = (key = KEY) => ({ name: 'roster', url: server.url, headers: { Authorization: `ApiKey ${key}` } })
const check = (...paths: string[]) =>
  checkAnswers(
    [asked()],
    otherUrl,
    paths.map((path) => get(path)),
  )

describe('answers that are right pass', () => {
  for (const path of [
    '/Absences/{1..1000}',
    '/Companies/{1..200}', // half of them are not there
    '/Employees/{1..200}',
    '/Absences',
    '/Absences?Status=Approved&sort=-Start&PageSize=50',
    '/Absences?Start=%3E%3D2020-01-01T00:00:00Z&Start=%3C2021-01-01T00:00:00Z&sort=-Start&PageSize=50',
    '/Absences?EmployeeId={1..200}',
    '/Absences?page={2..60}',
    '/Absences?sort=-Reason,+Employee&page=3&PageSize=2',
    '/Absences?sort=Period.Days,-End',
    '/Absences?Period.Days=>2.5&Type==Holiday&PageSize=75',
    '/Absences?Reason=!=Cold&PageSize=50',
    '/Absences?Period.Hours=>=16&Type=!=Holiday&Start=>={2017-01-01..2024-01-01}&Start=<{60d..400d}&sort=-Start',
    '/Companies?sort=Name',
    '/Companies?Enabled=true&sort=-Name',
    '/Employees?sort=-Manager&DisplayName=>=M',
    "/Employees?LastName=O'Brien",
  ])
    test(path, () => check(path))
})

describe('a difference is found', () => {
  for (const [what, write, path, message] of [
    ['of a value', `update absence set reason = 'Planted' where id = 7`, '/Absences', 'id 7, reason: the server says'],
    ['of a part of a group', 'update absence set period_hours = 99 where id = 7', '/Absences/7', 'id 7, period_hours:'],
    ['of a group', 'update absence set period_hours = 1 where id = 7', '/Absences/7', 'id 7, period_hours:'],
    [
      'of an instant',
      'update absence set "end" = \'2030-01-01Z\' where id = 7',
      '/Absences',
      'id 7, end: the server says',
    ],
    ['of a total', 'delete from absence where id = 900', '/Absences', 'X-Total-Count: the server says "1000"'],
    [
      'of an order',
      `update absence set start = '2010-01-01Z' where id = 900`,
      '/Absences?sort=Start',
      'ids: the server says',
    ],
    [
      'of a copied name',
      `update company set name = 'Zz' where id = 7`,
      '/Employees?sort=-Company',
      'ids: the server says',
    ],
    ['of a row that is not there', 'delete from absence where id = 7', '/Absences/7', 'status: the server says 200'],
    ['of a row that is there', 'insert into company default values', '/Companies/101', 'status: the server says 404'],
  ] as const)
    test(what, async () => {
      await other.unsafe(write)
      await expect(check('/Employees/1', path)).rejects.toThrow(`GET ${path} is answered wrongly by roster: ${message}`)
      await restore(otherUrl, rows)
      await check(path)
    })

  test('of the key', async () => {
    const checking = checkAnswers([asked('wrong')], otherUrl, [get('/Absences')])
    await expect(checking).rejects.toThrow('status: the server says 401, the reference 200')
  })
})

test('a page by its cursor is that of its number', async () => {
  for (const path of ['/Absences?sort=Start&page=7', '/Absences?Status=Approved&sort=-Reason,End&PageSize=10&page=2']) {
    const { operations } = await followLinks(asked(), { operations: [{ ...get(path), link: 'next' }] })
    expect(operations[0]?.path).toMatch(/page=\d+&cursor=./)
    await checkAnswers([asked()], otherUrl, operations)
  }
})

test('every server is asked, each twice, and a wrong answer is the fault of who gave it', async () => {
  const { headers } = asked()
  const { text: right } = await server.get('/Companies')
  let times = 0
  const other = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => Response.json(++times === 1 ? JSON.parse(right) : [], { headers: { 'X-Total-Count': '100' } }),
  })
  const both = [asked(), { name: 'no-cache', url: other.url.origin, headers }]
  const checking = checkAnswers(both, otherUrl, [get('/Companies')])
  await expect(checking).rejects.toThrow('GET /Companies is answered wrongly by no-cache: ids: the server says ""')
  expect(times).toBe(2)
  await other.stop(true)
})

test('writes and refusals are left out', async () => {
  const create: Operation = { method: 'POST', path: '/Companies', body: '{}', status: 201 }
  await checkAnswers([asked()], otherUrl, [create, get('/Absences/1', 401)])
  expect((await server.get('/Companies')).headers.get('x-total-count')).toBe(String(rows.companies))
})

test('what the reference does not know is an error', async () => {
  await expect(check('/Absences?Reason=')).rejects.toThrow('does not know the filter Reason=')
  await expect(check('/Offices')).rejects.toThrow('does not know /Offices')
})
