import { beforeAll, describe, expect, test } from 'bun:test'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { createRow } from '../support/rows.ts'
import { useServer } from '../support/start.ts'
import { titled } from '../support/titles.ts'

// test/properties/roundTrips.test.ts writes and reads random bodies of every entity.

const ID_MAX = '9007199254740991'

const server = useServer()
beforeAll(() => createRow(server, '/Companies', { Name: 'One' }))

const keyOf = (name: string) => name.charAt(0).toLowerCase() + name.slice(1)

describe('2 Ids', () => {
  test('D6: the greatest id, 2^53-1, is served and printed exactly', async () => {
    await server.sql`insert into company (id, name) overriding system value values (${ID_MAX}, 'Last')`
    const expected = `{"id":${ID_MAX},"name":"Last","enabled":false}`
    expect((await server.get(`/Companies/${ID_MAX}`)).text).toBe(expected)
    expect((await server.get(`/Companies?Id=${ID_MAX}`)).text).toBe(`[${expected}]`)
    expect((await server.remove(`/Companies/${ID_MAX}`)).status).toBe(204)
  })

  test.each([
    ...['999999', '0', '-1', '01', '1.0', '1e0', '+1', '0x1', '%201', 'abc', 'null', '9007199254740992'],
    '99999999999999999999',
  ])('D6: /Companies/%s is 404 for every method', async (id) => {
    const path = `/Companies/${id}`
    const body = { Name: 'x' }
    await expectAll(server, '404 NotFound Api', [
      ...[[`GET ${path}`] as const, [`PUT ${path}`, body] as const, [`PATCH ${path}`, body] as const],
      ...[[`DELETE ${path}`] as const, [`PATCH ${path}`, {}] as const],
    ])
    expect(await server.sql`select name from company where id = 1`).toEqual([{ name: 'One' }] as never)
  })
})

describe('2 Company, Employee and Absence', () => {
  test.each([
    ['Companies', 'id name enabled'],
    [
      'Employees',
      'id employeeNumber title firstName middleName lastName knownAs displayName workEmail workPhone workMobile ' +
        'companyId company department division location jobTitle jobLevel managerId manager type status ' +
        'started continuousStart contractEnd employmentEnd',
    ],
    ['Absences', 'id status employeeId employee type reason start end period'],
  ])('D10, D11, and 1, rule 4: the properties of %s are in lower camel case', async (plural, names) => {
    expect(Object.keys(await createRow(server, `/${plural}`, {})).join(' ')).toBe(names)
  })

  const employee = [
    ...['EmployeeNumber', 'Title', 'FirstName', 'MiddleName', 'LastName', 'KnownAs', 'WorkEmail', 'WorkPhone', 'WorkMobile'],
    ...['Department', 'Division', 'Location', 'JobTitle', 'JobLevel', 'Type', 'Status'],
  ]
  test.each([
    ['Companies', 200, ['Name']],
    ['Employees', 200, employee],
    ['Absences', 100, ['Status', 'Type', 'Reason', 'Period.Prefered']],
  ])('D10, D11, D12: each text of %s has up to %d code points and no more', async (plural, length, names) => {
    for (const name of names) {
      const [part = '', object] = name.split('.').reverse()
      const bodyOf = (text: string) => (object ? { [object]: { [part]: text } } : { [part]: text })
      const row = await createRow(server, `/${plural}`, bodyOf('🦊'.repeat(length)))
      expect((object ? row[keyOf(object)] : row)[keyOf(part)]).toBe('🦊'.repeat(length))
      expect(outcomeOf(await server.post(`/${plural}`, bodyOf('é'.repeat(length + 1))))).toBe(`400 InvalidValue ${name}`)
    }
  })

  test('D17: a whole surrogate pair written as escapes is one character', async () => {
    expect((await server.post('/Companies', '{"Name":"\\ud83e\\udd8a"}')).body.name).toBe('🦊')
  })

  const named = titled<[object, string | null]>([
    [{ KnownAs: 'Ada', FirstName: 'Augusta', LastName: 'Byron' }, 'Ada Byron'],
    [{ KnownAs: '', FirstName: 'Augusta', LastName: 'Byron' }, 'Augusta Byron'],
    [{ KnownAs: 'Ada' }, 'Ada'],
    [{ MiddleName: 'King', Title: 'Ms' }, null],
    [{ FirstName: '🦊'.repeat(200), LastName: 'x'.repeat(200) }, `${'🦊'.repeat(200)} ${'x'.repeat(200)}`],
  ])
  test.each(named)('D11: the display name joins KnownAs or FirstName with LastName, for %s', async (_, names, displayName) => {
    expect((await createRow(server, '/Employees', names)).displayName).toBe(displayName)
  })

  test('the sample values are printed as the spec shows them', async () => {
    const { id: EmployeeId } = await createRow(server, '/Employees', { FirstName: 'Ada' })
    const vocabulary = { Status: 'Approved', EmployeeId, Type: 'Holiday', Reason: 'Annual Leave' }
    const dates = { Start: '2023-07-03T09:00:00Z', End: '2023-07-06T17:30:00Z' }
    const body = { ...vocabulary, ...dates, Period: { Prefered: 'Hours', Days: 4, Hours: 30.5 } }
    const { text, body: row } = await server.post('/Absences', body)
    expect(text).toBe(
      `{"id":${row.id},"status":"Approved","employeeId":${EmployeeId},"employee":"Ada","type":"Holiday",` +
        '"reason":"Annual Leave","start":"2023-07-03T09:00:00Z","end":"2023-07-06T17:30:00Z",' +
        '"period":{"prefered":"Hours","days":4.00000000,"hours":30.50000000}}',
    )
  })

  test('D12: no transitions of status are enforced', async () => {
    const { id } = await createRow(server, '/Absences', { Status: 'Cancelled' })
    for (const Status of ['Requested', 'Approved', 'Declined', 'Requested', 'Whatever', null]) {
      const { status, body } = await server.patch(`/Absences/${id}`, { Status })
      expect([status, body.status]).toEqual([200, Status])
    }
  })
})
