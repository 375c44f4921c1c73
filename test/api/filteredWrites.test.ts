// PATCH and DELETE of a collection: all rows that match filters, or none. D113
import { beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { createRows } from '../support/rows.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

const EMPLOYEES = [
  { FirstName: 'Ann', Department: 'Sales', CompanyId: 1 },
  { FirstName: 'Bob', Department: 'Sales', CompanyId: 2, ManagerId: 1 },
  { FirstName: 'Cid', Department: 'Law', CompanyId: 1, ManagerId: 1 },
]

beforeEach(async () => {
  await server.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  await createRows(server, '/Companies', [{ Name: 'One', Enabled: true }, { Name: 'Two' }])
  await createRows(server, '/Employees', EMPLOYEES)
})

const patch = (query: string, body: unknown, headers: Record<string, string> = {}) =>
  server.send('PATCH', `/Employees?${query}`, body, headers)
const remove = (query: string, headers: Record<string, string> = {}) =>
  server.send('DELETE', `/Employees?${query}`, undefined, headers)
const titles = async () => (await server.sql`select job_title from employee order by id`).map((row) => row.job_title)

describe('PATCH of a collection', () => {
  test('changes all rows that match, and answers with them', async () => {
    const { status, body } = await patch('Department=Sales', { JobTitle: 'Seller' })
    expect([status, body.map(({ id, jobTitle }: Json) => [id, jobTitle])]).toEqual([
      200,
      [
        [1, 'Seller'],
        [2, 'Seller'],
      ],
    ])
    expect(await titles()).toEqual(['Seller', 'Seller', null])
    for (const row of body) expect((await server.get(`/Employees/${row.id}`)).body).toEqual(row)
  })
  test('follows paths', async () => {
    expect((await patch('CompanyId.Enabled=true&ManagerId=1', { JobTitle: 'x' })).body.map(({ id }: Json) => id)).toEqual([3])
  })
  test('sets references and names', async () => {
    const { body } = await patch('Id=<=2', { LastName: 'Lee', CompanyId: 2, ManagerId: 1 })
    for (const row of body) expect((await server.get(`/Employees/${row.id}`)).body).toEqual(row)
    expect(body.map(({ manager }: Json) => manager)).toEqual(['Ann Lee', 'Ann Lee'])
  })
  test('none matches', async () => {
    const { status, body } = await patch('Department=None', { JobTitle: 'x' })
    expect([status, body]).toEqual([200, []])
  })
  test('dry', async () => {
    const { status, body } = await patch('Department=Sales&dryRun=1', { JobTitle: 'x' })
    expect([status, body]).toEqual([200, { rows: 2 }])
    expect(await titles()).toEqual([null, null, null])
  })
  test('replay', async () => {
    const headers = { 'idempotency-key': 'one' }
    const first = await patch('Department=Sales', { JobTitle: 'x', Department: 'Law' }, headers)
    const second = await patch('Department=Sales', { JobTitle: 'x', Department: 'Law' }, headers)
    expect([second.status, second.text, second.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true'])
    expect(outcomeOf(await patch('Department=Law', { JobTitle: 'x', Department: 'Law' }, headers))).toBe(
      '422 IdempotencyMismatch Idempotency-Key',
    )
  })
  test('needs a filter', async () => {
    expect(outcomeOf(await patch('', { JobTitle: 'x' }))).toBe('400 FilterRequired Api')
  })
  test('missing reference', async () => {
    const answer = await patch('Id=!=', { CompanyId: 77 })
    expect([outcomeOf(answer), answer.body.Error.Message]).toEqual([
      '409 ReferenceNotFound CompanyId',
      'CompanyId names no Company: there is none with id 77.',
    ])
  })
})

describe('DELETE of a collection', () => {
  test('deletes', async () => {
    const { status, body } = await remove('Department=Sales&Id=2')
    expect([status, body]).toEqual([200, { rows: 1, ids: [2] }])
    const second = await remove('Id=!=')
    expect([second.status, second.body]).toEqual([200, { rows: 2, ids: [1, 3] }])
  })
  test('refuses', async () => {
    const answer = await remove('Department=Sales')
    expect([outcomeOf(answer), answer.body.Error.Message]).toEqual([
      '409 StillReferenced Api',
      'Employee 1 was not deleted: other rows refer to it: 2 of Employees (ManagerId=1).',
    ])
  })
  test('replay', async () => {
    const headers = { 'idempotency-key': 'one' }
    expect((await remove('Department=Law', headers)).body).toEqual({ rows: 1, ids: [3] })
    expect((await remove('Department=Law', headers)).text).toEqual('{"rows":1,"ids":[3]}')
  })
})
