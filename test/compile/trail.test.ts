import { afterAll, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileCreate, compileUpdate } from '../../src/compile/entity.ts'
import type { Trail } from '../../src/compile/trail.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import type { Batchable } from '../../src/model/batch.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const create = (body: Record<string, unknown>, trail: Trail) =>
  compileCreate(employee, parseComplete(employee, body), null, trail)
const update = (row: string, body: Record<string, unknown>, key: string) =>
  compileUpdate(employee, row, parsePartial(employee, body), [], null, null, { key, hasValues: false })
const written = async (statement: Batchable) => (await database.write({ ...statement, batch: null }))[0]

test('lines of a row stand in the order of its writes, also where the later one is of an earlier transaction', async () => {
  const row = (await written(create({ FirstName: 'Ada' }, { key: 'k', hasValues: false })))?.[0] as string
  await sql.begin(async (earlier) => {
    await earlier`select pg_current_xact_id()`
    await written(update(row, { Title: 'first' }, 'first'))
    const { text, values } = update(row, { Title: 'second' }, 'second')
    await earlier.unsafe(text, values as string[])
  })
  const lines = await sql`select key from entity_change where id = ${row} and action = 'u' order by position, number`
  expect(lines.map(({ key }) => key)).toEqual(['first', 'second'])
})

test('a text does not differ by key', () => {
  const [one, two] = ['a', 'b'].map((key) => create({ FirstName: 'x' }, { key, hasValues: false }))
  expect(one?.text).toBe(two?.text as string)
  expect(one?.batch?.text).toBe(two?.batch?.text as string)
})
