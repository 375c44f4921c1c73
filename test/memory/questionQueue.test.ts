import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import type { Reader } from '../../src/columns/collation.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database, type DatabaseOptions } from '../../src/execute/database.ts'
import { JOINT_CHANGES_MAX } from '../../src/memory/jointStatements.ts'
import { QuestionQueue } from '../../src/memory/questionQueue.ts'
import { CHANGES_MAX } from '../../src/memory/statements.ts'
import type { TableCopy } from '../../src/memory/tableCopy.ts'
import type { Entity } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { readCopy } from '../support/copies.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

const PAIRS = 40
/** Longer than any test: a statement that waits for a lock waits until the lock is given back. */
const PATIENT_MS = 600_000

let url: string
let sql: postgres.Sql
let pools: Database[]
let queue: QuestionQueue
let lost: string[]
/** Texts of the questions about one table, and about several. */
let askedAlone: string[]
let askedTogether: string[]
let companies: TableCopy
let employees: TableCopy
let both: readonly TableCopy[]

beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  pools = []
  lost = []
  askedAlone = []
  askedTogether = []
  await sql`insert into company (name) select 'v' from generate_series(1, ${PAIRS}) as n`
  await sql`insert into employee (first_name) select 'v' from generate_series(1, ${PAIRS}) as n`
  companies = await copyOf(company)
  employees = await copyOf(employee)
  both = [companies, employees]
  queue = queueOf()
})
afterEach(() => Promise.all([...pools.map((pool) => pool.end()), sql.end()]))

function poolOf(options: Partial<DatabaseOptions> = {}): Database {
  const pool = new Database({ url, poolSize: 2, prepare: true, queryMsMax: PATIENT_MS, ...options })
  pools.push(pool)
  return pool
}

/** Returns a reader that, like a worker, sends each question over a connection of its own, and adds its text to `asked`. */
function readerOf(pool: Database, asked: string[]): Reader {
  return {
    read(statement) {
      asked.push(statement.text)
      return pool.readUnbatched(statement, performance.now() + PATIENT_MS, () => undefined)
    },
  }
}

function copyOf(entity: Entity): Promise<TableCopy> {
  const pool = poolOf({ statementMsMax: PATIENT_MS })
  const onLost = (error: unknown) => lost.push(`${entity.table}: ${error}`)
  return readCopy(entity, { url, database: pool, questions: readerOf(pool, askedAlone), onLost })
}

/** A queue whose questions about several tables have the limits of a worker, but for `options`. */
function queueOf(options: Partial<DatabaseOptions> = { lockMsMax: 20 }): QuestionQueue {
  return new QuestionQueue(readerOf(poolOf({ failsAtLocks: true, ...options }), askedTogether))
}

/** Values of a property by id, as they are in the copy now. */
function valuesIn({ entity, columns }: TableCopy, name: string): Map<string, string | null> {
  const found = columns.lists.find(parseList(wholeView(entity), 'PageSize=50'))
  if (typeof found === 'string') throw new Error(found)
  const { rows } = found
  const column = entity.properties.findIndex((property) => property.name === name)
  return new Map(Array.from({ length: rows.length }, (_, index) => [rows.print(index, 0) as string, rows.print(index, column)]))
}

/** Values of both copies, which writers keep equal; null if the copies are not of one moment. */
async function readBoth() {
  await queue.refresh(both)
  if (both.some((copy) => copy.changesApplied() !== null) || queue.versionOf(both) === null) return null
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

/** Calls `work` while a transaction holds the lock of an `alter table` on the table. */
async function whileLocked(table: string, work: () => Promise<unknown>) {
  await sql.begin(async (transaction) => {
    await transaction`lock table ${transaction(table)} in access exclusive mode`
    await work()
  })
}

async function refreshOften(copy: TableCopy) {
  for (let left = 30; left > 0; left--) await queue.refresh([copy])
}

describe('Copies that a joint question (a query for the changes of several tables) refreshes', () => {
  test('show the same snapshot, while other sessions write both tables, and questions about one table refresh its copy', async () => {
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
    await Promise.all(reading).finally(() => (isOver = true))
    await Promise.all([...writing, ...readingAlone])
    expect([lost, compared > 1_900]).toEqual([[], true])
    const rows = await sql`select id::text, name from company order by company.id`
    expect((await readBoth())?.names).toEqual(new Map(rows.map(({ id, name }) => [id, name])))
  })

  test('have every write that was committed before the question was sent', async () => {
    for (let count = 0; count < 200; count++) {
      const value = `written ${count}`
      if (count % 3 !== 1) await sql`update company set name = ${value} where id = 1`
      if (count % 3 !== 0) await sql`update employee set first_name = ${value} where id = 1`
      const found = await readBoth()
      if (count % 3 !== 1) expect(found?.names.get('1')).toBe(value)
      if (count % 3 !== 0) expect(found?.firstNames.get('1')).toBe(value)
    }
  })

  test('have a joint version that changes only when a row of one of the tables has changed, not by further questions', async () => {
    await queue.refresh(both)
    const version = queue.versionOf(both)
    expect([version, queue.versionOf([employees, companies])]).toEqual([expect.any(String), version])
    await queue.refresh([companies])
    await queue.refresh(both)
    expect(queue.versionOf(both)).toBe(version)
    await sql`update company set name = 'changed' where id = 1`
    await queue.refresh([companies])
    expect(queue.versionOf(both)).toBeNull()
    await queue.refresh(both)
    expect(queue.versionOf(both)).toEqual(expect.not.stringMatching(version as string))
  })

  test('have no joint version before the first joint question', () => {
    expect(queue.versionOf(both)).toBeNull()
  })

  test('need only one question, which also serves requests that wait for a single copy', async () => {
    await Promise.all([queue.refresh([companies]), queue.refresh(both), queue.refresh([employees]), queue.refresh(both)])
    expect([askedTogether.length, askedAlone.length]).toEqual([1, 0])
    await Promise.all([queue.refresh([companies]), queue.refresh([employees])])
    expect([askedTogether.length, askedAlone.length]).toEqual([1, 2])
  })

  test('get a waiting joint question before further questions about one table', async () => {
    // On a busy machine the joint question can come so late that it no longer holds back single questions.
    await until(async () => {
      const slow = [new SlowCopy(companies), new SlowCopy(employees)] as const
      const copies = slow.map(({ copy }) => copy)
      const first = copies.map((copy) => queue.refresh([copy]))
      await turns()
      const waiting = [queue.refresh(copies), ...copies.map((copy) => queue.refresh([copy]))]
      slow[0].goOn()
      await first[0]
      await turns()
      const isHeld = slow[0].asks === 1
      // Nor is a copy in two questions at a time.
      expect(askedTogether).toEqual([])
      for (const one of slow) one.goOnForever()
      await Promise.all([...first, ...waiting])
      askedTogether.length = 0
      return isHeld && queue.versionOf(copies) !== null
    })
  })

  test('show the same moment, although rows of a table change between the two statements of the question', async () => {
    let count = 0
    const reader = readerOf(poolOf(), askedTogether)
    const read: Reader['read'] = async (statement) => {
      const rows = await reader.read(statement)
      if (++count === 1) await sql`update employee set first_name = 'changed' where id = 1`
      return rows
    }
    queue = new QuestionQueue({ read })
    await sql`update company set name = 'changed' where id = 1`
    const found = await readBoth()
    expect([found?.names.get('1'), found?.firstNames.get('1'), count]).toEqual(['changed', 'changed', 3])
    // Rows that the copies already have are not read again.
    await queue.refresh(both)
    expect(count).toBe(4)
  })
})

/** A copy whose questions end when the test says so. */
class SlowCopy {
  asks = 0
  readonly copy: TableCopy
  private isPatient = true
  private answer = () => undefined as unknown

  constructor(copy: TableCopy) {
    const ask = async () => {
      this.asks++
      if (this.isPatient) await new Promise<void>((resolve) => (this.answer = resolve))
      await copy.ask()
    }
    this.copy = Object.assign(Object.create(copy), { ask })
  }

  goOn() {
    this.answer()
  }

  goOnForever() {
    this.isPatient = false
    this.answer()
  }
}

/** Waits for some turns of the event loop, in which questions begin. */
async function turns() {
  for (let left = 5; left > 0; left--) await new Promise(setImmediate)
}

describe('When copies ask for changed rows, a table that an ALTER TABLE has locked', () => {
  /** Changes a company without a cascade, which would wait for the lock of employees. */
  const changeCompany = () => sql`update company set enabled = true where id = 1`
  const changedCompany = () => valuesIn(companies, 'Enabled').get('1')

  beforeEach(async () => {
    await queue.refresh(both)
    await sql`update employee set first_name = 'changed' where id = 1`
  })

  test('delays no question about another table, neither during a joint question about both tables nor after it', async () => {
    await whileLocked('employee', async () => {
      await Promise.all([refreshOften(companies), queue.refresh(both)])
      expect([queue.versionOf(both), queue.versionOf([companies])]).toEqual([null, expect.any(Number)])
      await changeCompany()
      await refreshOften(companies)
      expect(changedCompany()).toBe('t')
    })
    await until(async () => (await readBoth()) !== null)
    expect([valuesIn(employees, 'FirstName').get('1'), lost]).toEqual(['changed', []])
  })

  test('delays no question about another table if a joint question about both has no lock_timeout, as through a pooler', async () => {
    queue = queueOf({ statementMsMax: PATIENT_MS })
    await whileLocked('employee', async () => {
      await Promise.all([refreshOften(companies), queue.refresh(both)])
      expect([queue.versionOf(both), queue.versionOf([companies])]).toEqual([null, expect.any(Number)])
    })
  })

  test('delays a joint question about both tables only briefly, and no question about the other table meanwhile', async () => {
    let waiting: Promise<void> | undefined
    await whileLocked('employee', async () => {
      waiting = queue.refresh([employees])
      await new Promise(setImmediate)
      const joint = queue.refresh(both)
      await changeCompany()
      await refreshOften(companies)
      expect([changedCompany(), askedTogether.length]).toEqual(['t', 1])
      await joint
      expect(queue.versionOf(both)).toBeNull()
    })
    await waiting
    await queue.refresh(both)
    expect([queue.versionOf(both), valuesIn(employees, 'FirstName').get('1')]).toEqual([expect.any(String), 'changed'])
  })

  test('does not delay a joint question about both tables if none of its rows has changed', async () => {
    await queue.refresh(both)
    await whileLocked('employee', async () => {
      await changeCompany()
      await queue.refresh(both)
      expect([queue.versionOf(both), changedCompany()]).toEqual([expect.any(String), 't'])
    })
    expect(lost).toEqual([])
  })
})

describe('A copy that a joint question (a query for the changes of several tables) cannot refresh', () => {
  test('ends without ending the other copies when psql has dropped a column of its table', async () => {
    await queue.refresh(both)
    await sql`update employee set first_name = 'changed' where id = 1`
    await sql`update company set name = 'changed' where id = 1`
    await sql`alter table employee drop column title`
    await Promise.all([queue.refresh(both), queue.refresh([companies])])
    await until(() => employees.unusable === 'noCopy')
    expect([lost, companies.unusable, queue.versionOf(both)]).toEqual([
      ['employee: Error: the table was defined anew'],
      null,
      null,
    ])
    await queue.refresh([companies])
    expect(valuesIn(companies, 'Name').get('1')).toBe('changed')
  })

  test('ends without ending the other copies when VACUUM FULL has rewritten its table', async () => {
    await queue.refresh(both)
    await sql`update company set name = 'changed' where id = 1`
    await sql`vacuum full employee`
    await queue.refresh(both)
    expect([lost.length, employees.unusable, companies.unusable]).toEqual([1, 'noCopy', null])
    expect([queue.versionOf(both), valuesIn(companies, 'Name').get('1')]).toEqual([null, 'changed'])
  })

  test('ends without ending the other copies when a new row has an id beyond 2^53', async () => {
    await queue.refresh(both)
    // Beyond 2^53, where an id has no code.
    await sql`insert into employee (id, first_name) overriding system value values (9007199254740993, 'beyond')`
    await sql`update company set name = 'changed' where id = 1`
    await queue.refresh(both)
    expect([employees.unusable, employees.changesApplied(), companies.unusable]).toEqual(['noCopy', null, null])
    expect([queue.versionOf(both), valuesIn(companies, 'Name').get('1')]).toEqual([null, 'changed'])
  })

  test('because too many rows have changed is refreshed by a question about its table only, and then by joint ones again', async () => {
    await queue.refresh(both)
    await sql`insert into employee (first_name) select 'many' from generate_series(1, ${JOINT_CHANGES_MAX + 1}::int)`
    await sql`update company set name = 'changed' where id = 1`
    await queue.refresh(both)
    expect([queue.versionOf(both), valuesIn(companies, 'Name').get('1')]).toEqual([null, 'changed'])
    await queue.refresh(both)
    expect(queue.versionOf(both)).not.toBeNull()
    expect([employees.columns.rows, lost]).toEqual([PAIRS + JOINT_CHANGES_MAX + 1, []])
  })

  test('because it has fallen far behind leaves the other copies usable, and lists of several tables do not wait for it', async () => {
    await queue.refresh(both)
    for (let left = 0; left <= CHANGES_MAX; left += 1_000)
      await sql`insert into employee (first_name) select 'many' from generate_series(1, 1000)`
    await queue.refresh(both)
    // Waits for the single question about employees.
    await queue.refresh(both)
    expect([employees.unusable, companies.unusable, queue.versionOf(both)]).toEqual(['behind', null, null])
    await until(async () => (await readBoth()) !== null)
    expect([employees.columns.rows, lost]).toEqual([PAIRS + 6_000, []])
  })

  test('because it is evicted meanwhile does not prevent the refresh of the other copies', async () => {
    await queue.refresh(both)
    await sql`update company set name = 'changed' where id = 1`
    await sql`update employee set first_name = 'changed' where id = 1`
    const refreshing = queue.refresh(both)
    // The question begins in this turn of the event loop.
    await new Promise(setImmediate)
    employees.release()
    await refreshing
    expect([companies.unusable, valuesIn(companies, 'Name').get('1'), queue.versionOf(both)]).toEqual([null, 'changed', null])
  })
})

describe('Joint questions (queries for the changes of several tables) that fail', () => {
  test('make no question about a single table fail, and are not sent again for a while', async () => {
    // A database without tables.
    queue = queueOf({ url: await createDatabase('empty') })
    await Promise.all([queue.refresh(both), queue.refresh([companies]), queue.refresh([employees])])
    expect([queue.versionOf(both), companies.unusable, employees.unusable, lost]).toEqual([null, null, null, []])
    const { length } = askedTogether
    await queue.refresh(both)
    expect([queue.versionOf(both), askedTogether.length]).toEqual([null, length])
  })

  test('remove the joint version, which would be stale', async () => {
    await queue.refresh(both)
    expect(queue.versionOf(both)).not.toBeNull()
    await sql`alter table row_change rename to kept_row_change`
    await queue.refresh(both)
    expect(queue.versionOf(both)).toBeNull()
    await sql`alter table kept_row_change rename to row_change`
    await queue.refresh(both)
    expect(queue.versionOf(both)).toBeNull()
    await until(async () => (await readBoth()) !== null)
  })
})
