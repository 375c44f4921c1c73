// Writes of all rows that match filters, while other writes change which rows match. D113
import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { besideTransaction } from '../support/besideTransaction.ts'
import { connect } from '../support/postgres.ts'
import { createRows } from '../support/rows.ts'
import type { Answer, Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()
let other: postgres.Sql
beforeAll(() => {
  other = connect(server.databaseUrl)
})

const EMPLOYEES = [
  { FirstName: 'Ann', Department: 'Sales', CompanyId: 1 },
  { FirstName: 'Bob', Department: 'Sales', CompanyId: 1 },
  { FirstName: 'Cid', Department: 'Law', CompanyId: 2 },
]

beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  await createRows(server, '/Companies', [{ Name: 'One', Enabled: true }, { Name: 'Two' }])
  await createRows(server, '/Employees', EMPLOYEES)
})

const idsOf = ({ status, body }: Answer) => [status, body.ids ?? body.map?.(({ id }: Json) => id) ?? body.Error.Code]
const written = async () =>
  (await server.sql`select id::int from employee where job_title = 'mine' order by id`).map(({ id }) => id)

/** Changes rows in a transaction that commits while a PATCH or DELETE waits for them. */
const beside = (method: 'PATCH' | 'DELETE', filters: string, work: (sql: postgres.TransactionSql) => Promise<unknown>) =>
  besideTransaction({ holder: other, watcher: server.sql, commits: true }, work, () =>
    server.send(method, `/Employees?${filters}`, method === 'PATCH' ? { JobTitle: 'mine' } : undefined),
  )

const moveToTwo = (id: number) => (sql: postgres.TransactionSql) =>
  sql`update employee set company_id = 2, company_key = (select name_key from company where id = 2) where id = ${id}`

/** What happens while a write waits, its filters, and the rows that it writes. */
const CASES: [string, string, (sql: postgres.TransactionSql) => Promise<unknown>, number[]][] = [
  ['a row stops matching', 'Department=Sales', (sql) => sql`update employee set department = 'Law' where id = 1`, [2]],
  ['all rows stop matching', 'Department=Sales', (sql) => sql`update employee set department = 'Law' where id < 3`, []],
  ['a row is deleted', 'Department=Sales', (sql) => sql`delete from employee where id = 1`, [2]],
  ['a row changes and still matches', 'Department=Sales', (sql) => sql`update employee set title = 'Dr' where id = 1`, [1, 2]],
  [
    'one row stops matching and another begins to',
    'Department=Sales&Id=!=2',
    (sql) => sql`update employee set department = case id when 3 then 'Sales' else 'Law' end where id in (1, 3)`,
    [3],
  ],
  ['a row stops matching by its reference', 'CompanyId.Enabled=true', moveToTwo(1), [2]],
  ['a row stops matching a negated path', 'CompanyId.Name=!=Two', moveToTwo(1), [2]],
  ['a folded text changes', 'FirstName[begins]=a', (sql) => sql`update employee set first_name = 'Zoe' where id = 1`, []],
]

describe.each(['PATCH', 'DELETE'] as const)('%s of a collection', (method) => {
  test.each(CASES)(
    'waits for another transaction (%s), then writes the rows that match its filters: %s',
    async (_, filters, work, ids) => {
      const answer = await beside(method, filters, work)
      expect(idsOf(answer)).toEqual([200, ids])
      if (method === 'PATCH') expect(await written()).toEqual(ids)
    },
  )
})

test('of several concurrent writes by the same filter, exactly one writes each row', async () => {
  await createRows(
    server,
    '/Absences',
    Array.from({ length: 60 }, () => ({ Status: 'Requested' })),
  )
  const answers = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((Reason) =>
      server.send('PATCH', '/Absences?Status=Requested', { Status: 'Approved', Reason }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
  expect(answers.flatMap(({ body }) => body.map(({ id }: Json) => id)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 60 }, (_, at) => at + 1),
  )
})

test('a write by filters writes exactly the rows that match at one moment, while other writes change which rows match', async () => {
  const HELD = 5
  await createRows(
    server,
    '/Absences',
    Array.from({ length: 20 }, (_, at) => ({ Status: at < HELD ? 'Held' : 'Free' })),
  )
  let isOver = false
  const exchangeRows = async () => {
    while (!isOver) {
      await other.begin(async (sql) => {
        const [held] = await sql`select id from absence where status = 'Held' order by random() limit 1 for update skip locked`
        const [free] = await sql`select id from absence where status = 'Free' order by random() limit 1 for update skip locked`
        if (!held || !free) return
        await sql`update absence set status = case status when 'Held' then 'Free' else 'Held' end where id in (${held.id}, ${free.id})`
      })
      await Bun.sleep(3)
    }
  }
  const others = Promise.all([exchangeRows(), exchangeRows()])
  const counts = new Map<string, number>()
  for (let round = 0; round < 40; round++) {
    const { status, body } = await server.send('PATCH', '/Absences?Status=Held', { Reason: `round ${round}` })
    const outcome = status === 200 ? `${body.length} ${body.every((row: Json) => row.status === 'Held')}` : String(status)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    if (status !== 200) continue
    const [{ n } = { n: 0 }] = await server.sql`select count(*)::int as n from absence where reason = ${`round ${round}`}`
    expect(n).toBe(HELD)
  }
  isOver = true
  await others
  counts.delete('503')
  expect([...counts.keys()]).toEqual([`${HELD} true`])
})
