import { beforeEach, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { keyWith } from '../support/rights.ts'
import { createRow, createRows, emptyTables } from '../support/rows.ts'
import type { Answer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// A repeated request gets the stored answer, as far as the present rights of its key show it.

const key = keyWith('read Employees', 'write Employees')
const server = useServer({ keys: [key.record] })

const READ = 'read Employees?fields=FirstName,CompanyId'
const CREATE = 'create Employees?fields=FirstName,CompanyId'
const UPDATE = 'update Employees?fields=FirstName,CompanyId'

/** Gives the key other rights. */
const giveRights = (...rights: string[]) => server.replaceKeys([{ ...key.record, addresses: rights.join('\n') }])

function send(method: string, path: string, body?: unknown): Promise<Answer> {
  return server.send(method, path, body, { ...key.headers, 'idempotency-key': 'same' })
}

beforeEach(async () => {
  await emptyTables(server.sql)
  await createRows(server, '/Companies', [{ Name: 'One' }, { Name: 'Two' }])
})

const whole = { id: 1, firstName: 'Ann', companyId: 1 }

/** The rights when the row is written and when the request is repeated, what happens between, and both answers. */
const CASES: [subject: string, first: string[], between: string | null, second: string[], answers: [unknown, unknown]][] = [
  ['as it was', [READ], null, [READ], [whole, whole]],
  ['as it was, although the row was changed', [READ], "update employee set first_name = 'x'", [READ], [whole, whole]],
  ['as it was, although the row was deleted', [READ], 'delete from employee', [READ], [whole, whole]],
  ['with fewer properties', [READ], null, ['read Employees?fields=FirstName'], [whole, { id: 1, firstName: 'Ann' }]],
  ['with more properties', ['read Employees?fields=FirstName'], null, [READ], [{ id: 1, firstName: 'Ann' }, whole]],
  ['with its id, without a right to read', [READ], null, [], [whole, { id: 1 }]],
  [
    'as it was, of a row that the key may read',
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    null,
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    [whole, whole],
  ],
  [
    'with its id, of a row that the key may not read',
    [READ],
    null,
    ['read Employees?CompanyId=2&fields=FirstName,CompanyId'],
    [whole, { id: 1 }],
  ],
  [
    'with its id, of a row that has left what the key reads',
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    "update employee set company_id = 2, company_key = '=Two'",
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    [whole, { id: 1 }],
  ],
  [
    'with its id, of a row that the key reads now, but could not read as it was written',
    ['read Employees?CompanyId=2&fields=FirstName,CompanyId'],
    "update employee set company_id = 2, company_key = '=Two'",
    ['read Employees?CompanyId=2&fields=FirstName,CompanyId'],
    [{ id: 1 }, { id: 1 }],
  ],
  [
    'with its id, of a row that was deleted',
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    'delete from employee',
    ['read Employees?CompanyId=1&fields=FirstName,CompanyId'],
    [whole, { id: 1 }],
  ],
]

test.each(CASES)('a repeated create is answered %s', async (_, first, between, second, [answer, again]) => {
  await giveRights(CREATE, ...first)
  const body = { FirstName: 'Ann', CompanyId: 1 }
  expect((await send('POST', '/Employees', body)).body).toEqual(answer)
  if (between !== null) await server.sql.unsafe(between)
  await giveRights(CREATE, ...second)
  const replayed = await send('POST', '/Employees', body)
  expect([replayed.status, replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual([201, 'true', again])
})

test.each(CASES)('a repeated update is answered %s', async (_, first, between, second, [answer, again]) => {
  await createRow(server, '/Employees', { CompanyId: 2 })
  await giveRights(UPDATE, ...first)
  const body = { FirstName: 'Ann', CompanyId: 1 }
  expect((await send('PATCH', '/Employees/1', body)).body).toEqual(answer)
  if (between !== null) await server.sql.unsafe(between)
  await giveRights(UPDATE, ...second)
  const replayed = await send('PATCH', '/Employees/1', body)
  expect([replayed.status, replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual([200, 'true', again])
})

test('the repeated answer to several rows shows each row as the key may read it now', async () => {
  await giveRights(CREATE, READ)
  const rows = [1, 2, 1].map((CompanyId) => ({ FirstName: 'Ann', CompanyId }))
  expect((await send('POST', '/Employees', rows)).body).toEqual(
    rows.map(({ CompanyId }, index) => ({ ...whole, id: index + 1, companyId: CompanyId })),
  )
  await giveRights(CREATE, 'read Employees?CompanyId=1&fields=FirstName')
  const { status, body } = await send('POST', '/Employees', rows)
  expect([status, body]).toEqual([201, [{ id: 1, firstName: 'Ann' }, { id: 2 }, { id: 3, firstName: 'Ann' }]])
})

test('an update is replayed although its row is outside of the key’s right now, and a deletion although its row is gone', async () => {
  await createRow(server, '/Employees', { CompanyId: 1 })
  await giveRights('read Employees', 'update Employees?CompanyId=1', 'delete Employees?CompanyId=1')
  const update = await send('PATCH', '/Employees/1', { JobTitle: 'x' })
  await giveRights('read Employees', 'update Employees?CompanyId=2', 'delete Employees?CompanyId=1')
  const again = await send('PATCH', '/Employees/1', { JobTitle: 'x' })
  expect([again.status, again.text]).toEqual([200, update.text])
  for (let time = 0; time < 2; time++) {
    const { status } = await server.send('DELETE', '/Employees/1', undefined, { ...key.headers, 'idempotency-key': 'other' })
    expect(status).toBe(204)
  }
})

test('a repeated request is recognized by what the client sent, without what the right sets', async () => {
  await giveRights('create Employees?Status=New&fields=FirstName')
  const first = await send('POST', '/Employees', { FirstName: 'Ann' })
  await giveRights('create Employees?Status=Other&fields=FirstName,LastName')
  const again = await send('POST', '/Employees', { FirstName: 'Ann' })
  expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true'])
  expect(outcomeOf(await send('POST', '/Employees', { FirstName: 'Ann', LastName: 'x' }))).toBe(
    '422 IdempotencyMismatch Idempotency-Key',
  )
  const statuses = await server.sql`select status from employee`
  expect(statuses.map(({ status }) => status)).toEqual(['New'])
})

test('a body is checked by the present rights (403) before a stored answer is looked up', async () => {
  await giveRights(CREATE)
  await send('POST', '/Employees', { FirstName: 'Ann', CompanyId: 1 })
  await giveRights('create Employees?fields=FirstName', READ)
  expect(outcomeOf(await send('POST', '/Employees', { FirstName: 'Ann', CompanyId: 1 }))).toBe('403 Forbidden CompanyId')
})
