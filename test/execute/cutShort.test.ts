import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Database } from '../../src/execute/database.ts'
import { param, sql, toStatement } from '../../src/model/sql.ts'
import { createDatabase } from '../support/postgres.ts'

let database: Database
beforeAll(async () => {
  database = new Database({ url: await createDatabase(), poolSize: 1, prepare: true })
})
afterAll(() => database.end(100))

// Two rows are on their way when the third fails.
const cutShort = toStatement(sql`select (1 / (3 - n))::text from generate_series(1, 3) as n`)
const next = (value: string) => database.read(toStatement(sql`select ${param(value)}::text`))

test('the answer behind one that failed amid its rows begins with its own first row', async () => {
  for (let round = 0; round < 5; round++) {
    await expect(database.read(cutShort)).rejects.toMatchObject({ code: '22012' })
    expect(await next('first')).toEqual([['first']])
    expect(await next('second')).toEqual([['second']])
  }
})

test('so do answers that wait behind it, and those of writes', async () => {
  const failed = [database.read(cutShort), database.write(cutShort)]
  const insert = sql`insert into company (name) values (${param('a')}), (${param('b')}) returning name`
  const behind = [next('one'), next('two'), database.write(toStatement(insert)), next('three')]
  for (const answer of await Promise.allSettled(failed)) expect(answer.status).toBe('rejected')
  expect(await Promise.all(behind)).toEqual([[['one']], [['two']], [['a'], ['b']], [['three']]])
})
