import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { besideTransaction } from '../support/besideTransaction.ts'
import { outcomeOf } from '../support/cases.ts'
import { connect } from '../support/postgres.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, createRows, emptyTables } from '../support/rows.ts'
import type { Answer, TestKey } from '../support/server.ts'
import { allowSeveralRights } from '../support/severalRights.ts'
import { useServer } from '../support/start.ts'

// A single one of several rights must admit a write, whatever other transactions do to the row while the write waits. D104

afterAll(allowSeveralRights())

const rolesOf = (id: number) =>
  keyWith(
    'read Employees',
    `read Absences?EmployeeId=${id}`,
    `create Absences?EmployeeId=${id}&Status=Requested&fields=Reason`,
    `update Absences?EmployeeId=${id}&Status=Requested&fields=Status,Reason becomes Status=Cancelled`,
    `delete Absences?EmployeeId=${id}&Status=Requested`,
    `read Absences?EmployeeId.ManagerId=${id}`,
    `create Absences?EmployeeId.ManagerId=${id}&fields=EmployeeId,Reason`,
    `update Absences?EmployeeId.ManagerId=${id}&Status=Requested&fields=Status,Reason becomes Status[]=Approved&Status[]=Cancelled`,
    `delete Absences?EmployeeId.ManagerId=${id}`,
  )
const [ann, cid] = [rolesOf(1), rolesOf(3)] as [TestKey, TestKey]
const server = useServer({ keys: [ann.record, cid.record] })
let other: postgres.Sql
beforeAll(() => {
  other = connect(server.databaseUrl)
})

/** Employee 2 reports to 1, and 4 to 3. */
beforeEach(async () => {
  await emptyTables(server.sql)
  await createRows(server, '/Employees', [{}, { ManagerId: 1 }, {}, { ManagerId: 3 }])
})

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, key = ann): Promise<Answer> =>
  server.send(method, path, body, { ...key.headers, ...headers })
const newAbsence = async (EmployeeId: number) =>
  (await createRow(server, '/Absences', { EmployeeId, Status: 'Requested' })).id as number

/** Makes an absence one of another employee, or gives it another status. */
const change =
  (id: number, set: { employee_id?: number; status?: string }) =>
  (sql: Pick<postgres.TransactionSql, 'unsafe'>): Promise<unknown> =>
    sql.unsafe(
      `update absence as a set employee_id = e.id, employee_key = e.display_name_key, status = coalesce($3, a.status)
      from absence as own join employee as e on e.id = coalesce($2::bigint, own.employee_id) where own.id = $1 and a.id = $1`,
      [id, set.employee_id ?? null, set.status ?? null],
    )

const FORMS: [form: string, headers: Record<string, string>][] = [
  ['without a header', {}],
  ['with If-Match: *', { 'if-match': '*' }],
  ['with an Idempotency-Key', { 'idempotency-key': 'KEY' }],
]

describe.each(FORMS)('a write that waits for its row, %s', (_, template) => {
  const headersOf = () => Object.fromEntries(Object.entries(template).map(([name, value]) => [name, value + crypto.randomUUID()]))
  const headers = () => ('if-match' in template ? { 'if-match': '*' } : headersOf())
  const beside = (id: number, set: Parameters<typeof change>[1], ask: () => Promise<Answer>, commits = true) =>
    besideTransaction({ holder: other, watcher: server.sql, commits }, change(id, set), ask)

  test.each([
    ['is done by another right, if that right admits it now', 1, { employee_id: 2 }, 'Cancelled', '200'],
    ['is done by another right, also if the row moves the other way', 2, { employee_id: 1 }, 'Cancelled', '200'],
    ['is 403 if only the former right admits the change', 2, { employee_id: 1 }, 'Approved', '403 Forbidden Status'],
    ['is 404 if no right reaches the row any more', 1, { employee_id: 3 }, 'Cancelled', '404 NotFound Api'],
    [
      'is 403 if no right reaches the row, but the key may read it',
      2,
      { status: 'Declined' },
      'Approved',
      '403 Forbidden Status',
    ],
  ] as const)('%s', async (_, employee, set, status, outcome) => {
    for (const commits of [true, false]) {
      const id = await newAbsence(employee)
      const ask = () => send('PATCH', `/Absences/${id}`, { Status: status, Reason: 'mine' }, headers())
      const answer = await beside(id, set, ask, commits)
      expect([commits, outcomeOf(answer)]).toEqual([commits, commits ? outcome : '200'])
      const [row] = await server.sql`select reason from absence where id = ${id}`
      expect(row?.reason).toBe(answer.status === 200 ? 'mine' : null)
    }
  })

  test('deletes the row if any right reaches it after the wait', async () => {
    const remove = (id: number) => () => send('DELETE', `/Absences/${id}`, undefined, headers())
    const [own, moved, left] = [await newAbsence(1), await newAbsence(1), await newAbsence(1)] as [number, number, number]
    expect(outcomeOf(await beside(own, { status: 'Declined' }, remove(own)))).toBe('403 Forbidden Status')
    expect(outcomeOf(await beside(moved, { status: 'Declined', employee_id: 2 }, remove(moved)))).toBe('204')
    expect(outcomeOf(await beside(left, { employee_id: 4 }, remove(left)))).toBe('404 NotFound Api')
  })
})

test('one right must admit the row both before and after an update, while other writes move the row between two rights', async () => {
  const id = await newAbsence(1)
  let isOver = false
  const moving = (async () => {
    for (let employee = 2; !isOver; employee = 3 - employee)
      await change(id, { employee_id: employee, status: 'Requested' })(other)
  })()
  const outcomes = new Set<string>()
  for (let round = 0; round < 60; round++) {
    const answers = await Promise.all([1, 2, 3].map(() => send('PATCH', `/Absences/${id}`, { Status: 'Approved' })))
    for (const answer of answers) {
      outcomes.add(outcomeOf(answer))
      // Only the right to rows of the team approves.
      if (answer.status === 200) expect(answer.body).toMatchObject({ employeeId: 2, status: 'Approved' })
    }
  }
  isOver = true
  await moving
  // A write whose row moves at each attempt is 409 in the end.
  expect([...outcomes].filter((outcome) => !/^(200|403 Forbidden Status|409 Conflict Api)$/.test(outcome))).toEqual([])
})

test('concurrent creates of two persons each have the values that their own right sets, in one batch or not', async () => {
  const keys = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? ann : cid))
  const answers = await Promise.all(
    keys.map((key, index) => {
      const report = key === ann ? 2 : 4
      const body = index % 3 === 0 ? { Reason: `${index}`, EmployeeId: report } : { Reason: `${index}` }
      return send('POST', '/Absences', body, {}, key)
    }),
  )
  expect(answers.map(({ status, body }) => [status, body.reason, body.employeeId])).toEqual(
    keys.map((key, index) => {
      const [own, report] = key === ann ? [1, 2] : [3, 4]
      return [201, `${index}`, index % 3 === 0 ? report : own]
    }),
  )
})

test('concurrent updates of two persons are each admitted by their own rights', async () => {
  const ids = await Promise.all([1, 2, 3, 4, 1, 2, 3, 4].map(newAbsence))
  const answers = await Promise.all(
    ids.flatMap((id) =>
      [ann, cid].map((key) => send('PATCH', `/Absences/${id}`, { Status: 'Cancelled', Reason: key.text }, {}, key)),
    ),
  )
  const statuses = [1, 2, 3, 4, 1, 2, 3, 4].flatMap((employee) => (employee < 3 ? [200, 404] : [404, 200]))
  expect(answers.map(({ status }) => status)).toEqual(statuses)
})

test('a repeated create under an Idempotency-Key gets the first row, and a create by another right gets IdempotencyMismatch', async () => {
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const [first, second] = [
    await send('POST', '/Absences', { EmployeeId: 2 }, headers),
    await send('POST', '/Absences', { EmployeeId: 2 }, headers),
  ]
  expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect(outcomeOf(await send('POST', '/Absences', {}, headers))).toBe('422 IdempotencyMismatch Idempotency-Key')
})
