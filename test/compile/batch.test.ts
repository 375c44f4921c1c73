import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { compileCreate, compileGet, compileUpdate } from '../../src/compile/entity.ts'
import { compileList } from '../../src/compile/list.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Batcher } from '../../src/execute/batcher.ts'
import { Database } from '../../src/execute/database.ts'
import { referringColumns } from '../../src/model/copies.ts'
import type { Entity } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Row, Statement } from '../../src/model/sql.ts'
import { planWrite } from '../../src/model/writePlan.ts'
import { parseComplete } from '../../src/parse/assignments.ts'
import { parseList } from '../../src/parse/list.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let url: string
let sql: postgres.Sql
let database: Database
/** A database of its own for what it asks, which sends the statements given to it together as they are. */
let batched: { ask(statement: Statement): Promise<Row[]> }
let sent: Statement[]

beforeAll(async () => {
  url = await createDatabase()
  sql = connect(url)
})
afterAll(() => sql.end())
const together = (statements: readonly Statement[]) => Promise.all(statements.map((statement) => batched.ask(statement)))
const alone = async (statements: readonly Statement[]) => {
  const answers: Row[][] = []
  for (const { text, values } of statements) answers.push(await database.read({ text, values }))
  return answers
}
const listOf = (entity: Entity, query: string) => compileList(entity, parseList(entity, query))
const REFERRING = referringColumns(employee, [company, employee, absence])
const id = (value: number) => new JsonNumber(String(value))

/** Rows of a batch without the number of their run. */
const withoutNumbers = (answers: readonly Row[][]): Row[][] => answers.map((rows) => rows.map((row) => row.slice(0, -1)))

describe('text', () => {
  test('the arrays of each write are numbered as its values, wherever the text has the first of them', () => {
    const once = { key: 'k', request: 'r' }
    for (const entity of [absence, company, employee]) {
      const changes = parseComplete(entity, {})
      const writes = [null, once].flatMap((once) => [
        compileCreate(entity, planWrite('', changes, { once })),
        ...[[], REFERRING].flatMap((copying) =>
          [null, '{1}'].map((versions) => compileUpdate(entity, planWrite('7', changes, { versions, once }), copying)),
        ),
      ])
      for (const { batch, values } of writes) {
        const [, arrays = ''] = /unnest\((.*?)\) with ordinality/.exec(batch?.text ?? '') ?? []
        const numbers = values.slice(0, -1).map((_, index) => `$${index + 1}`)
        expect([...(arrays.match(/\$\d+/g) ?? [])]).toEqual(numbers)
        expect([...new Set(batch?.text.match(/\$\d+(?=::)/g))].sort()).toEqual(numbers.toSorted())
      }
    }
  })

  test('lists: only the first page of the rows that belong to one', () => {
    for (const query of ['EmployeeId=3', 'EmployeeId=3&Start=>2024-01-01T00:00:00Z&sort=-Start&PageSize=50', 'employeeid=3'])
      expect(listOf(absence, query).batch).toMatchObject({ rows: 'numbered', distinct: null })
    for (const query of ['', 'page=2', 'EmployeeId=3&page=2', 'EmployeeId=', 'EmployeeId=!=3', 'EmployeeId=>3', 'Id=3'])
      expect(listOf(absence, query).batch).toBeNull()
  })

  test('lists with a text among their values are not batched: their order is that of a column', () => {
    expect(listOf(absence, 'EmployeeId=3&Status=Approved').batch).toBeNull()
    expect(listOf(absence, 'EmployeeId=3&Status=').batch).not.toBeNull()
  })

  test('the values of a client are in no text', () => {
    const changes = parseComplete(absence, { Status: 'secret', EmployeeId: id(424242) })
    const statements = [compileCreate(absence, planWrite('', changes)), compileUpdate(absence, planWrite('424242', changes))]
    const queries = [compileGet(absence, '424242'), listOf(absence, 'EmployeeId=424242&Period.Days=424242')]
    for (const { batch } of [...statements, ...queries]) expect(batch?.text).not.toMatch(/secret|424242/)
  })
})

describe('on the database', () => {
  beforeEach(async () => {
    await sql`truncate company, employee, absence restart identity cascade`
    database = new Database({ url, poolSize: 2, prepare: true })
    sent = []
    const together = (statement: Statement) => {
      sent.push(statement)
      return database.write(statement)
    }
    batched = new Batcher({ alone: together, together }, { waitMsMax: 5_000, runningMsMax: 100 })
  })
  afterEach(() => database.end(1_000))

  const fill = () => sql`
    with e as (
      insert into employee (first_name) select 'E' || n from generate_series(1, 12) as n returning id, display_name_key
    )
    insert into absence (employee_id, employee_key, status, start, period_days, period_hours)
    select id, display_name_key, 'S' || n % 3, timestamptz '2024-01-01Z' + n * interval '1 day', n % 4, n / 8.0
    from generate_series(1, 30) as n join e on n % e.id <> 1`

  test('removals give each row as it was, and none for rows that are not there or that others refer to', async () => {
    await fill()
    await sql`update employee set manager_id = 12, manager_key = '=E12' where id in (11, 12)`
    await sql`delete from absence where employee_id <> 2`
    const statements = ['11', '12', '2', '999', '1'].map((place) =>
      compileRemove(employee, planWrite(place, new Map()), REFERRING),
    )
    const removed = withoutNumbers(await together(statements))
    expect(removed.map((rows) => rows.map((row) => [row[0], row[3]]))).toEqual([[['11', 'E11']], [], [], [], [['1', 'E1']]])
    expect(await together([compileRemove(employee, planWrite('12', new Map()), REFERRING)])).toMatchObject([[{ 0: '12' }]])
    expect(await alone([compileGet(employee, '2')])).toMatchObject([[{ 0: '2' }]])
  })
})
