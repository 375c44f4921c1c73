import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import { QuestionQueue } from '../../src/memory/questionQueue.ts'
import type { TableCopy } from '../../src/memory/tableCopy.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { readCopy } from '../support/copies.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const PAIRS = 40

let url: string
let sql: postgres.Sql
let database: Database
let joint: Database
let queue: QuestionQueue
let lost: string[]
/** Texts of the statements about several tables. */
let asked: string[]
let companies: TableCopy
let employees: TableCopy
let both: readonly TableCopy[]

const copyOf = (entity: Parameters<typeof readCopy>[0]) =>
  readCopy(entity, { url, database, onLost: (error) => lost.push(`${entity.table}: ${error}`) })

beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  lost = []
  asked = []
  database = new Database({ url, poolSize: 2, prepare: true })
  const onStatement = (text: string) => void asked.push(text)
  joint = new Database({ url, poolSize: 2, prepare: true, lockMsMax: 20, failsAtLocks: true, onStatement })
  queue = new QuestionQueue({ read: (statement) => joint.readAlone(statement, performance.now() + 5_000, () => undefined) })
  await sql`insert into company (name) select 'v' from generate_series(1, ${PAIRS}) as n`
  await sql`insert into employee (first_name) select 'v' from generate_series(1, ${PAIRS}) as n`
  companies = await copyOf(company)
  employees = await copyOf(employee)
  both = [companies, employees]
})
afterEach(() => Promise.all([database.end(), joint.end(), sql.end()]))

/** Values of a property by id, as they are in the copy now. */
function valuesIn({ entity, columns }: TableCopy, name: string): Map<string, string | null> {
  const found = columns.lists.find(parseList(wholeView(entity), 'PageSize=50'))
  if (typeof found === 'string') throw new Error(found)
  const { rows } = found
  const column = entity.properties.findIndex((property) => property.name === name)
  return new Map(Array.from({ length: rows.length }, (_, index) => [rows.print(index, 0) as string, rows.print(index, column)]))
}

/** Values of both copies, which are equal in every transaction; null if the copies are not of one moment. */
async function readBoth() {
  await queue.refresh(both)
  if (both.some((copy) => copy.settled() !== null) || queue.versionOf(both) === null) return null
  return { names: valuesIn(companies, 'Name'), firstNames: valuesIn(employees, 'FirstName') }
}

/** Changes, removes and inserts pairs of rows until `isOver`, each pair in one transaction. */
async function writePairs(isOver: () => boolean) {
  const own = connect(url)
  for (let count = 0; !isOver(); count++) {
    const id = 1 + Math.floor(Math.random() * PAIRS)
    const value = crypto.randomUUID()
    await own.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${id})`
      const [row] = await transaction`update company set name = ${value} where id = ${id} returning id`
      if (count % 5 === 0 && row) await transaction`delete from company where id = ${id}`
      if (!row) await transaction`insert into company (id, name) overriding system value values (${id}, ${value})`
      if (count % 2 === 0) await Bun.sleep(1)
      if (count % 5 === 0 && row) await transaction`delete from employee where id = ${id}`
      else if (row) await transaction`update employee set first_name = ${value} where id = ${id}`
      else await transaction`insert into employee (id, first_name) overriding system value values (${id}, ${value})`
    })
  }
  await own.end()
}

describe('Copies of several tables that are asked about together', () => {
  test('are of one moment, beside writers of both and questions about each', async () => {
    let isOver = false
    const writing = [1, 2, 3].map(() => writePairs(() => isOver))
    let compared = 0
    const reading = [1, 2, 3, 4].map(async () => {
      for (let round = 0; round < 500; round++) {
        const found = await readBoth()
        if (found === null) continue
        expect(found.firstNames).toEqual(found.names)
        compared++
      }
    })
    const readingAlone = both.map(async (copy) => {
      while (!isOver) await queue.refresh([copy])
    })
    await Promise.all(reading)
    isOver = true
    await Promise.all([...writing, ...readingAlone])
    expect(lost).toEqual([])
    expect(compared).toBeGreaterThan(1_900)
    const rows = await sql`select id::text, name from company order by company.id`
    const found = await readBoth()
    expect(found?.names).toEqual(new Map(rows.map(({ id, name }) => [id, name])))
  })
})
