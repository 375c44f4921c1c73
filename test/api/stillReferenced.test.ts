import { beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { emptyTables } from '../support/rows.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// test/api/references.test.ts tests that such a row is not deleted.

const keyOf = (rights: string) => makeKey({ rights })
const KEYS = {
  all: keyOf('*:read,*:write'),
  writer: keyOf('*:write'),
  absences: keyOf('Employees:write,Absences:read'),
  employees: keyOf('Employees:read,Employees:write,Companies:write'),
  companies: keyOf('Companies:read,Companies:write'),
}
type KeyName = keyof typeof KEYS
const server = useServer({ keys: Object.values(KEYS).map(({ record }) => record) })

// Company 1 has the employees 1 to 4. Employee 1 manages 2 and 3, and has absences; 4 manages only themselves.
beforeEach(async () => {
  await emptyTables(server.sql)
  await server.post('/Companies', { Name: 'Acme' })
  const people = [{}, { ManagerId: 1 }, { ManagerId: 1 }, {}].map((person) => ({ ...person, CompanyId: 1 }))
  for (const person of people) await server.post('/Employees', person)
  await server.patch('/Employees/4', { ManagerId: 4 })
  await addAbsences(1, 3)
})

const addAbsences = (employee: number, count: number) => server.sql`
  insert into absence (employee_id, employee_key)
  select id, display_name_key from employee, generate_series(1, ${count}::int) where id = ${employee}`

async function messageOf(path: string, key: KeyName = 'all', headers: Record<string, string> = {}): Promise<string> {
  const answer = await server.send('DELETE', path, undefined, { ...KEYS[key].headers, ...headers })
  expect(outcomeOf(answer)).toBe('409 StillReferenced Api')
  return answer.body.Error.Message
}

const PLAIN = 'Employee 1 was not deleted: other rows refer to it.'
const WHOLE = 'Employee 1 was not deleted: other rows refer to it: 2 of Employees (ManagerId=1), 3 of Absences (EmployeeId=1).'

/** In any order of the entities. */
const sorted = (message: string) =>
  message
    .replace(/\.$/, '')
    .split(/(?<=it): |, /)
    .sort()

describe('the refusal to delete a referenced row', () => {
  test('has the counts of referring rows, and filters that find them, for a key that may read all of them', async () => {
    expect(sorted(await messageOf('/Employees/1'))).toEqual(sorted(WHOLE))
    expect(await messageOf('/Companies/1')).toBe(
      'Company 1 was not deleted: other rows refer to it: 4 of Employees (CompanyId=1).',
    )
    const found = ['Employees?ManagerId=1', 'Absences?EmployeeId=1', 'Employees?CompanyId=1']
    const pages = await Promise.all(found.map((filter) => server.get(`/${filter}`)))
    expect(pages.map(({ headers }) => headers.get('x-total-count'))).toEqual(['2', '3', '4'])
  })

  test.each([
    ['writer', '/Employees/1', PLAIN],
    ['absences', '/Employees/1', 'Employee 1 was not deleted: other rows refer to it, among them 3 of Absences (EmployeeId=1).'],
    ['employees', '/Employees/1', 'Employee 1 was not deleted: other rows refer to it, among them 2 of Employees (ManagerId=1).'],
    ['writer', '/Companies/1', 'Company 1 was not deleted: other rows refer to it.'],
    ['companies', '/Companies/1', 'Company 1 was not deleted: other rows refer to it.'],
    ['employees', '/Companies/1', 'Company 1 was not deleted: other rows refer to it: 4 of Employees (CompanyId=1).'],
  ] as const)('has no counts of rows that the key %s may not read, for a deletion of %s', async (key, path, message) => {
    expect(await messageOf(path, key)).toBe(message)
  })

  test('does not tell a key whether rows of a table that it may not read refer to the row', async () => {
    await server.sql`delete from absence`
    expect(await messageOf('/Employees/1', 'absences')).toBe(PLAIN)
  })

  test('counts at most 1,000 rows', async () => {
    await addAbsences(2, 1_000)
    expect(await messageOf('/Employees/2')).toContain('1000 of Absences (EmployeeId=2)')
    await addAbsences(2, 1)
    expect(await messageOf('/Employees/2')).toContain('over 1,000 of Absences (EmployeeId=2)')
  })

  test('is the same with an Idempotency-Key, with If-Match, and for concurrent deletions', async () => {
    const once = { 'idempotency-key': crypto.randomUUID() }
    for (const headers of [once, once, { 'if-match': '*' }, { ...once, 'if-match': '*' }])
      expect(sorted(await messageOf('/Employees/1', 'all', headers))).toEqual(sorted(WHOLE))
    const keys: KeyName[] = ['all', 'writer', 'absences', 'all', 'writer', 'absences', 'all', 'writer']
    const messages = await Promise.all(keys.map((key) => messageOf('/Employees/1', key)))
    for (const [index, key] of keys.entries())
      expect(sorted(messages[index] as string)).toEqual(
        sorted(
          { all: WHOLE, writer: PLAIN, absences: PLAIN.replace('.', ', among them 3 of Absences (EmployeeId=1).') }[key as 'all'],
        ),
      )
  })

  test('does not count a reference of the row to itself', async () => {
    expect((await server.remove('/Employees/4')).status).toBe(204)
    await server.patch('/Employees/1', { ManagerId: 1 })
    expect(await messageOf('/Employees/1')).toContain('2 of Employees (ManagerId=1)')
  })

  test('has no count of a table that belongs to no entity', async () => {
    await server.sql.unsafe('create table badge (employee_id bigint references employee); insert into badge values (3)')
    expect(await messageOf('/Employees/3')).toBe('Employee 3 was not deleted: other rows refer to it.')
    await server.sql.unsafe('drop table badge')
    expect((await server.remove('/Employees/3')).status).toBe(204)
  })

  test('does not apply to a missing row, whose deletion is 404', async () => {
    for (const key of ['all', 'writer'] as const)
      expect(outcomeOf(await server.send('DELETE', '/Employees/999', undefined, KEYS[key].headers))).toBe('404 NotFound Api')
  })
})
