import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { besideTransaction, withinLockTimeout } from '../support/besideTransaction.ts'
import { outcomeOf } from '../support/cases.ts'
import { connect } from '../support/postgres.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, createRows, emptyTables } from '../support/rows.ts'
import type { Answer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// D95: what a path leads to is as of the beginning of the statement, whatever the write waits for; the row itself is compared again
// once the write holds its lock.

const key = keyWith('read Absences?EmployeeId.CompanyId=1', 'write Absences?EmployeeId.CompanyId=1', 'read Employees')
const server = useServer({ keys: [key.record] })
let other: postgres.Sql
beforeAll(() => {
  other = connect(server.databaseUrl)
})

/** Employees 1 and 2 are of company 1, and 3 is of company 2. */
beforeEach(async () => {
  await emptyTables(server.sql)
  await createRows(server, '/Companies', [{ Name: 'One' }, { Name: 'Two' }])
  await createRows(server, '/Employees', [{ CompanyId: 1, FirstName: 'a' }, { CompanyId: 1 }, { CompanyId: 2 }])
})

const ONCE = 'KEY'
/** The forms of statements that write: method, body and headers. */
const WRITES: [form: string, method: string, body: unknown, headers: Record<string, string>, good: number][] = [
  ['PATCH', 'PATCH', { Reason: 'mine' }, {}, 200],
  ['PATCH with If-Match: *', 'PATCH', { Reason: 'mine' }, { 'if-match': '*' }, 200],
  ['PATCH under an Idempotency-Key', 'PATCH', { Reason: 'mine' }, { 'idempotency-key': ONCE }, 200],
  ['PUT', 'PUT', { EmployeeId: 1, Reason: 'mine' }, {}, 200],
  ['DELETE', 'DELETE', undefined, {}, 204],
  ['DELETE under an Idempotency-Key', 'DELETE', undefined, { 'idempotency-key': ONCE }, 204],
  ['POST', 'POST', { EmployeeId: 1, Reason: 'mine' }, {}, 201],
  ['POST under an Idempotency-Key', 'POST', { EmployeeId: 1, Reason: 'mine' }, { 'idempotency-key': ONCE }, 201],
  ['POST of several rows', 'POST', [{ Reason: 'mine', EmployeeId: 2 }, { EmployeeId: 1 }], {}, 201],
]

/** Moves an employee to a company, as another program may. */
const moveTo = (id: number, company: number) => (sql: Pick<postgres.Sql, 'unsafe'>) =>
  sql.unsafe(`update employee set company_id = $1, company_key = (select name_key from company where id = $1) where id = $2`, [
    company,
    id,
  ])

describe.each(WRITES)('%s', (_, method, body, template, good) => {
  const isCreate = method === 'POST'
  const send = async (absence: number): Promise<Answer> => {
    const headers = Object.fromEntries(
      Object.entries(template).map(([name]) => [name, name === 'if-match' ? '*' : crypto.randomUUID()]),
    )
    return server.send(method, isCreate ? '/Absences' : `/Absences/${absence}`, body, { ...key.headers, ...headers })
  }
  const newAbsence = async () => (await createRow(server, '/Absences', { EmployeeId: 1 })).id as number

  test('does not wait for a transaction that changes the referenced row, and sees this row as it was before', async () => {
    const id = await newAbsence()
    await other.begin(async (transaction) => {
      await moveTo(1, 2)(transaction)
      expect((await send(id)).status).toBe(good)
    })
    // Now that row has moved.
    const refused =
      method === 'POST' ? (Array.isArray(body) ? '403 Forbidden [1].EmployeeId' : '403 Forbidden EmployeeId') : '404 NotFound Api'
    const next = await newAbsence()
    expect(outcomeOf(await send(next))).toBe(refused)
    expect((await server.sql`select from absence where id = ${next} and reason is null`).count).toBe(1)
  })

  if (!isCreate) {
    const beside = (id: number, commits: boolean, work: (sql: postgres.TransactionSql) => Promise<unknown>) => {
      const lock = async (sql: postgres.TransactionSql) => {
        await sql`select from absence where id = ${id} for update`
        await work(sql)
      }
      return besideTransaction({ holder: other, watcher: server.sql, commits }, lock, () => send(id))
    }

    test('that waits for its own row sees the referenced row as it was when the write began', async () => {
      const answer = await withinLockTimeout(async () => {
        await moveTo(1, 1)(server.sql)
        return beside(await newAbsence(), true, moveTo(1, 2))
      })
      expect(answer.status).toBe(good)
    })

    const refer = (id: number, employee: number) => (sql: postgres.TransactionSql) => {
      const name = sql`(select display_name_key from employee where id = ${employee})`
      return sql`update absence set employee_id = ${employee}, employee_key = ${name} where id = ${id}`
    }

    test.each([true, false])(
      'is 404 if a concurrent transaction changes the reference to a row that does not match, and commits: %p',
      async (commits) => {
        const id = await newAbsence()
        expect(outcomeOf(await beside(id, commits, refer(id, 3)))).toBe(commits ? '404 NotFound Api' : String(good))
      },
    )

    test('is done if a concurrent transaction changes the reference to another matching row', async () => {
      const id = await newAbsence()
      expect((await beside(id, true, refer(id, 2))).status).toBe(good)
    })
  }
})

test('each of many concurrent updates is either done or 404 while the rows to which their paths lead change', async () => {
  const ids = await Promise.all(
    Array.from(
      { length: 12 },
      async (_, index) => (await createRow(server, '/Absences', { EmployeeId: 1 + (index % 3) })).id as number,
    ),
  )
  let isOver = false
  const moving = (async () => {
    for (let company = 2; !isOver; company = 3 - company) await moveTo(1, company)(other)
  })()
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(
      ids.map((id) => server.send('PATCH', `/Absences/${id}`, { Reason: `${round}` }, key.headers)),
    )
    const rows = new Map((await server.sql`select id::int, employee_id::int, reason from absence`).map((row) => [row.id, row]))
    for (const [index, { status }] of answers.entries()) {
      const row = rows.get(ids[index])
      if (row?.employee_id === 2) expect(status).toBe(200)
      if (row?.employee_id === 3) expect(status).toBe(404)
      if (status === 200) expect(row?.reason).toBe(`${round}`)
      else expect([status, row?.reason]).not.toEqual([404, `${round}`])
    }
  }
  isOver = true
  await moving
})
