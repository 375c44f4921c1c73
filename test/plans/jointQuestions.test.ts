import { expect, test } from 'bun:test'
import { type AskedTable, compileJointQuestion, compileJointRows } from '../../src/memory/jointStatements.ts'
import { Snapshot } from '../../src/memory/statements.ts'
import { entities } from '../support/entities.ts'
import { connect, createDatabase } from '../support/postgres.ts'

/** PostgreSQL compares the generic plan with others from the sixth execution on. */
const EXECUTIONS = 12

test.each([
  ['which tables have changed', (sources: readonly AskedTable[]) => compileJointQuestion(sources, false)],
  ['which rows have changed', (sources: readonly AskedTable[]) => compileJointRows(sources, sources.length)],
])('A statement about changes of several tables, which asks %s, is planned only once', async (_what, compile) => {
  const sql = connect(await createDatabase())
  const [now] = await sql`select pg_current_snapshot()::text as text`
  const snapshot = new Snapshot(now?.text)
  const sources: AskedTable[] = []
  for (const entity of entities) {
    const [row] = await sql`select ${entity.table}::regclass::oid::text as relation`
    sources.push({ entity, relation: row?.relation, snapshot })
  }
  const { text, values } = compile(sources)
  const connection = await sql.reserve()
  for (let executed = 0; executed < EXECUTIONS; executed++) await connection.unsafe(text, [...values], { prepare: true })
  const [plans] = await connection`select generic_plans::int as generic from pg_prepared_statements where statement = ${text}`
  connection.release()
  expect(plans?.generic).toBe(EXECUTIONS - 5)
})
