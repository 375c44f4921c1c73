import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type postgres from 'postgres'
import { compileCreate, compileUpdate } from '../../src/compile/entity.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Assignments } from '../../src/model/query.ts'
import type { Statement } from '../../src/model/sql.ts'
import { planWrite } from '../../src/model/writePlan.ts'
import { migrate, readMigrations } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { Random } from '../support/random.ts'

const FILE = '0007_one_index.sql'
const [WRITERS, ROWS] = [8, 12]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'roster-before-'))
  const before = readMigrations(MIGRATIONS).filter(({ file }) => file < FILE)
  for (const { file } of before) cpSync(join(MIGRATIONS, file), join(folder, file))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function changesOf({ properties }: Entity, values: Record<string, string | number>): Assignments {
  return new Map(properties.flatMap((one) => (one.name in values ? [[one, String(values[one.name])] as const] : [])))
}

/** What a server writes: rows with copies, and renames that go on to them. */
function writeOf(random: Random): Statement {
  const id = () => 1 + random.below(ROWS)
  const name = `Name ${random.below(1_000)}`
  const writes: (() => Statement)[] = [
    () => compileCreate(employee, planWrite('', changesOf(employee, { FirstName: name, CompanyId: id() }))),
    () => compileUpdate(company, planWrite(String(id()), changesOf(company, { Name: name }))),
    () => compileUpdate(employee, planWrite(String(id()), changesOf(employee, { KnownAs: name }))),
    () => compileCreate(absence, planWrite('', changesOf(absence, { Reason: name, EmployeeId: id() }))),
    () => compileUpdate(absence, planWrite(String(id()), changesOf(absence, { EmployeeId: id() }))),
  ]
  return random.pick(writes)()
}

const run = (sql: postgres.Sql, { text, values }: Statement) => sql.unsafe(text, values as string[], { prepare: true })

async function fill(sql: postgres.Sql) {
  for (let id = 1; id <= ROWS; id++) {
    await run(sql, compileCreate(company, planWrite('', changesOf(company, { Name: `Company ${id}` }))))
    await run(sql, compileCreate(employee, planWrite('', changesOf(employee, { FirstName: `First ${id}`, CompanyId: id }))))
    await run(sql, compileCreate(absence, planWrite('', changesOf(absence, { EmployeeId: id }))))
  }
}

test('0007: half the indexes go while servers of the version before write on, and no write fails', async () => {
  const url = await createDatabase('empty')
  expect(await migrate(url, folder)).not.toContain(FILE)
  const sql = connect(url)
  await fill(sql)
  const failures: unknown[] = []
  const counts = Array<number>(WRITERS).fill(0)
  let isOver = false
  const write = async (_: unknown, index: number) => {
    const random = new Random(index)
    const own = connect(url)
    for (; !isOver; counts[index] = (counts[index] as number) + 1)
      await run(own, writeOf(random)).catch((error) => failures.push(error))
    await own.end()
  }
  const eachHasWritten = async (more: number) => {
    const enough = counts.map((count) => count + more)
    while (counts.some((count, index) => count < (enough[index] as number))) await Bun.sleep(5)
  }
  const writing = Promise.all(counts.map(write))
  await eachHasWritten(5)
  expect(await migrate(url, MIGRATIONS)).toContain(FILE)
  await eachHasWritten(5)
  isOver = true
  await writing
  expect(failures).toEqual([])
  const left = await sql`select indexname from pg_indexes where indexname ~ '_(a|de)scending$'`
  expect(left.map(({ indexname }) => indexname)).toEqual([])
  await sql.end()
}, 30_000)
