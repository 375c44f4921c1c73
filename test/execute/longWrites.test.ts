import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import { LongWrites } from '../../src/execute/longWrites.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let url: string
let sql: postgres.Sql
let database: Database
let longWrites: LongWrites
beforeAll(async () => {
  url = await createDatabase()
  sql = connect(url)
})
beforeEach(() => {
  const options = { url, poolSize: 2, prepare: true, name: 'roster test' }
  database = new Database(options)
  longWrites = new LongWrites(options)
})
afterEach(() => Promise.all([database.end(0), longWrites.end()]))
afterAll(() => sql.end())

test('PostgreSQL lets it run for a minute', async () => {
  expect(await longWrites.write({ text: 'show statement_timeout', values: [] })).toEqual([['1min']])
})

test('one runs at a time, in the order in which they came, while others go on; a failure holds up none', async () => {
  const order: string[] = []
  const run = (name: string, text = 'select $1') =>
    longWrites.write({ text, values: [name] }).then(
      () => void order.push(name),
      () => void order.push(`${name} failed`),
    )
  const all = ['a', 'b', 'c'].map((name) => run(name, name === 'b' ? 'select no_such_column' : 'select pg_sleep(0.02), $1'))
  expect(await database.read({ text: 'select 1::text', values: [] })).toEqual([['1']])
  await Promise.all(all)
  expect(order).toEqual(['a', 'b failed', 'c'])
  const backends = await sql`select application_name from pg_stat_activity where application_name like 'roster test/long/%'`
  expect(backends).toHaveLength(1)
}, 20_000)

test('no more than eight wait or run; a further one is refused at once, and nothing of it was done', async () => {
  const writes = Array.from({ length: 9 }, (_, index) =>
    longWrites.write({ text: 'select pg_sleep(0.01), $1', values: [`${index}`] }),
  )
  const outcomes = await Promise.allSettled(writes)
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(8).fill('fulfilled'), 'rejected'])
  await expect(writes[8]).rejects.toMatchObject({ code: 'ServiceUnavailable', headers: { 'Retry-After': '10' } })
}, 20_000)
