import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileCreate, compileUpdate } from '../../src/compile/entity.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import type { Trail } from '../../src/compile/trail.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import type { Batchable } from '../../src/model/batch.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Once } from '../../src/model/once.ts'
import { arrayText } from '../../src/model/sql.ts'
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

const NAMES: Trail = { key: 'k', hasValues: false }
const VALUES: Trail = { key: 'k', hasValues: true }
const id = (value: string) => new JsonNumber(value)
const onceOf = (): Once => ({ key: crypto.randomUUID(), request: crypto.randomUUID() })
const create = (body: Record<string, unknown>, trail = NAMES, once: Once | null = null) =>
  compileCreate(employee, parseComplete(employee, body), once, 'published', trail)
const update = (row: string, body: Record<string, unknown>, trail = NAMES, once: Once | null = null) =>
  compileUpdate(employee, row, parsePartial(employee, body), [], null, once, 'published', trail)
const remove = (row: string, trail = NAMES, once: Once | null = null) =>
  compileRemove(employee, row, [], null, once, 'published', trail)

/** What the server sends for several of one text at once. */
async function together(statements: readonly Batchable[]) {
  const [{ batch }] = statements as [Batchable]
  const values = statements[0]?.values.map((_, index) => arrayText(statements.map((one) => one.values[index] ?? null)))
  const rows = await database.read({ text: batch?.text ?? '', values: values ?? [] })
  return rows
}
/** The same of new rows that one key asks for. */
async function togetherOfOne(statements: readonly Batchable[]) {
  const [{ batch, values }] = statements as [Batchable]
  const arrays = values.slice(0, -1).map((_, index) => arrayText(statements.map((one) => one.values[index] ?? null)))
  return database.read({ text: batch?.alike ?? '', values: [...arrays, values.at(-1) ?? null] })
}
const written = async (statement: Batchable) => (await database.write({ ...statement, batch: null }))[0]
const idOf = async (statement: Batchable) => (await written(statement))?.[0] as string
const linesOf = async (row: string | null | undefined) =>
  (
    await sql`select entity, action::text, key, to_json(changed) as changed, to_json(before) as before, to_json(after) as after from entity_change where id = ${String(row)} and entity = 'employee' order by number`
  ).map((line) => ({ ...line }))
const line = (action: string, changed: string[] = [], key = 'k') => ({
  ...{ entity: 'employee', action, key, changed, before: null, after: null },
})

describe('a write leaves a line', () => {
  test('alone: of a create, an update of what differs, and a deletion', async () => {
    const row = await idOf(create({ FirstName: 'Ada', LastName: 'Byron' }))
    await written(update(row, { LastName: 'King', Title: null, Department: 'A' }))
    await written(remove(row))
    expect(await linesOf(row)).toEqual([line('c'), line('u', ['LastName', 'DisplayName', 'Department']), line('d')])
  })

  test('and none where nothing differs, or nothing is written', async () => {
    const row = await idOf(create({ FirstName: 'Ada' }))
    expect(await written(update(row, { FirstName: 'Ada' }))).toBeDefined()
    expect(await written(update(row, { CompanyId: id('999999') }))).toBeUndefined()
    expect(await written(remove('999999'))).toBeUndefined()
    expect(await linesOf(row)).toEqual([line('c')])
  })

  test('with a reference: what is copied along differs too', async () => {
    const [made] = await database.write(compileCreate(company, parseComplete(company, { Name: 'Acme' })))
    const row = await idOf(create({ FirstName: 'Ada' }))
    await written(update(row, { CompanyId: id(made?.[0] as string) }))
    expect((await linesOf(row)).at(-1)).toEqual(line('u', ['CompanyId', 'Company']))
  })

  test('in batches, each with the key that has asked for its run', async () => {
    const trails = ['a', 'b', 'c'].map((key) => ({ key, hasValues: false }))
    const made = await together(
      trails.map((trail, index) =>
        create({ FirstName: trail.key, CompanyId: index === 1 ? id('999999') : null }, trail),
      ),
    )
    // The second one lacks its company.
    const ids = made.map((row) => row[0] as string)
    expect(ids).toHaveLength(2)
    expect(await Promise.all(ids.map(linesOf))).toEqual([[line('c', [], 'a')], [line('c', [], 'c')]])
    const changed = await together(ids.map((row, index) => update(row, { Title: 't' }, trails[index] as Trail)))
    expect(changed.map((row) => row.at(-1))).toEqual(['1', '2'])
    const removed = await together(ids.map((row, index) => remove(row, trails[index] as Trail)))
    expect(removed).toHaveLength(2)
    expect(await linesOf(ids[1])).toEqual([line('c', [], 'c'), line('u', ['Title'], 'b'), line('d', [], 'b')])
  })

  test('of new rows in batches of one key, as in those of several', async () => {
    const bodies = [null, id('999999'), null].map((company, index) => ({ FirstName: `${index}`, CompanyId: company }))
    const made = await togetherOfOne(bodies.map((body) => create(body)))
    const ids = made.map((row) => row[0] as string)
    expect(ids).toHaveLength(2)
    expect(await Promise.all(ids.map(linesOf))).toEqual([[line('c')], [line('c')]])
    const plain = await togetherOfOne(['a', 'b'].map((name) => create({ FirstName: name })))
    expect(await Promise.all(plain.map((row) => linesOf(row[0])))).toEqual([[line('c')], [line('c')]])
  })

  test('under an Idempotency-Key once, alone and in batches', async () => {
    const once = onceOf()
    const row = await idOf(create({ FirstName: 'Ada' }, NAMES, once))
    expect(await written(create({ FirstName: 'Ada' }, NAMES, once))).toBeUndefined()
    const [key, other] = [onceOf(), onceOf()]
    await together([update(row, { Title: 'Dr' }, { key: 'b', hasValues: false }, key)])
    await together([update(row, { Title: 'Mx' }, { key: 'b', hasValues: false }, key)])
    const made = await together([create({ FirstName: 'E' }, { key: 'e', hasValues: false }, other)])
    expect(await linesOf(made[0]?.[0])).toEqual([line('c', [], 'e')])
    const last = onceOf()
    await written(remove(row, NAMES, last))
    await written(remove(row, NAMES, last))
    expect(await linesOf(row)).toEqual([line('c'), line('u', ['Title'], 'b'), line('d')])
  })

  test('with values, where these are kept: as PostgreSQL prints them, of what differs alone', async () => {
    const row = await idOf(create({ FirstName: 'Ada', Started: '2024-01-02T03:04:05Z' }, VALUES))
    await written(update(row, { FirstName: 'Bea', Started: null, Title: null }, VALUES))
    await written(remove(row, VALUES))
    const lines = await linesOf(row)
    expect(lines[0]).toMatchObject({ changed: ['FirstName', 'DisplayName', 'Started'], before: [null, null, null] })
    expect(lines[0]?.after).toEqual(['Ada', 'Ada', '2024-01-02 03:04:05+00'])
    expect(lines[1]).toMatchObject({
      changed: ['FirstName', 'DisplayName', 'Started'],
      before: ['Ada', 'Ada', '2024-01-02 03:04:05+00'],
      after: ['Bea', 'Bea', null],
    })
    expect(lines[2]).toMatchObject({ action: 'd', changed: ['FirstName', 'DisplayName'], after: [null, null] })
  })
})

test('lines of a row stand in the order of its writes, also where the later one is of an earlier transaction', async () => {
  const row = await idOf(create({ FirstName: 'Ada' }))
  await sql.begin(async (earlier) => {
    await earlier`select pg_current_xact_id()`
    await written(update(row, { Title: 'first' }, { key: 'first', hasValues: false }))
    const { text, values } = update(row, { Title: 'second' }, { key: 'second', hasValues: false })
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
