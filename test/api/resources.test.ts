import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRow } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

const ID_MAX = '9007199254740991'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await createRow(server, '/Companies', { Name: 'One' })
})
afterAll(() => server.stop())

const refused = (target: string) => ({ status: 400, code: 'InvalidValue', target })

describe('2 Ids', () => {
  test('D6: an id is printed as a JSON number', async () => {
    const { text, body } = await server.post('/Companies', { Name: 'Acme' })
    expect(Number.isSafeInteger(body.id) && body.id >= 1).toBe(true)
    expect(text).toBe(`{"id":${body.id},"name":"Acme","enabled":false}`)
  })

  test('D6: the greatest id, 2^53-1, is served and printed exactly', async () => {
    await server.sql`insert into company (id, name) overriding system value values (${ID_MAX}, 'Last')`
    const expected = `{"id":${ID_MAX},"name":"Last","enabled":false}`
    expect((await server.get(`/Companies/${ID_MAX}`)).text).toBe(expected)
    expect((await server.get(`/Companies?Id=${ID_MAX}`)).text).toBe(`[${expected}]`)
    expect((await server.remove(`/Companies/${ID_MAX}`)).status).toBe(204)
  })

  test.each([
    '999999',
    '0',
    '-1',
    '01',
    '1.0',
    '1e0',
    '+1',
    '0x1',
    '%201',
    'abc',
    'null',
    '9007199254740992',
    '99999999999999999999',
  ])('D6: /Companies/%s is 404 for every method', async (id) => {
    const path = `/Companies/${id}`
    const body = { Name: 'x' }
    const answers = [await server.get(path), await server.put(path, body), await server.patch(path, body)]
    for (const answer of [...answers, await server.remove(path), await server.patch(path, {})])
      expect(errorOf(answer)).toEqual({ status: 404, code: 'NotFound', target: 'Api' })
    expect(await server.sql`select name from company where id = 1`).toEqual([{ name: 'One' }] as never)
  })
})

describe('2 Company', () => {
  test('D10: its fields are id, name and enabled', async () => {
    expect(Object.keys(await createRow(server, '/Companies', {}))).toEqual(['id', 'name', 'enabled'])
  })

  test.each([
    ['200 letters', 'x'.repeat(200)],
    ['200 code points beyond the BMP', '🦊'.repeat(200)],
    ['the empty text', ''],
    ['spaces', '  a  '],
    ['controls, quotes and backslashes', 'a\t"b"\\\n\u0001\u2028'],
    ['text that looks like null', 'null'],
  ])('D10: a name of %s is kept as it is', async (_, Name) => {
    const { body } = await server.post('/Companies', { Name })
    expect((await server.get(`/Companies/${body.id}`)).body.name).toBe(Name)
  })

  test('D10: a name of more than 200 code points is 400', async () => {
    expect(errorOf(await server.post('/Companies', { Name: 'x'.repeat(201) }))).toEqual(refused('Name'))
    expect(errorOf(await server.post('/Companies', { Name: '🦊'.repeat(201) }))).toEqual(refused('Name'))
  })

  test.each([[5], [true], [{}], [['a']], [1.5]])('D10: %p is no name: 400', async (Name) => {
    expect(errorOf(await server.post('/Companies', { Name }))).toEqual(refused('Name'))
  })

  test.each([['true'], [1], [0], [''], [{}], [[]]])('D10: %p is no boolean: 400', async (Enabled) => {
    expect(errorOf(await server.post('/Companies', { Enabled }))).toEqual(refused('Enabled'))
  })

  test.each(['\u0000', 'a\u0000b', '\ud800', 'a\udc00b', '\udc00\ud800'])('D17: %j in a text is 400', async (Name) => {
    const { id } = await createRow(server, '/Companies', { Name: 'Kept' })
    expect(errorOf(await server.post('/Companies', { Name }))).toEqual(refused('Name'))
    expect(errorOf(await server.patch(`/Companies/${id}`, { Name }))).toEqual(refused('Name'))
    expect((await server.get(`/Companies/${id}`)).body.name).toBe('Kept')
  })

  test('D17: a whole surrogate pair written as escapes is a character', async () => {
    expect((await server.post('/Companies', '{"Name":"\\ud83e\\udd8a"}')).body.name).toBe('🦊')
  })
})

describe('2 Employee', () => {
  const texts = {
    ...{ EmployeeNumber: 'E1', Title: 'Ms', FirstName: 'Augusta', MiddleName: 'A', LastName: 'Byron', KnownAs: 'Ada' },
    ...{ WorkEmail: 'ada@example.com', WorkPhone: '1', WorkMobile: '2', Department: 'D', Division: 'V' },
    ...{ Location: 'London', JobTitle: 'Engineer', JobLevel: 'Senior', Type: 'FullTime', Status: 'Current' },
  }

  test('D11: its fields', async () => {
    expect(Object.keys(await createRow(server, '/Employees', {}))).toEqual([
      ...['id', 'employeeNumber', 'title', 'firstName', 'middleName', 'lastName', 'knownAs', 'displayName'],
      ...['workEmail', 'workPhone', 'workMobile', 'companyId', 'company', 'department', 'division', 'location'],
      ...['jobTitle', 'jobLevel', 'managerId', 'manager', 'type', 'status'],
      ...['started', 'continuousStart', 'contractEnd', 'employmentEnd'],
    ])
  })

  test('D11: what is written is what is read', async () => {
    const { id: CompanyId } = await createRow(server, '/Companies', { Name: 'Acme' })
    const { id: ManagerId } = await createRow(server, '/Employees', { FirstName: 'Boss' })
    const starts = { Started: '2020-01-01T00:00:00Z', ContinuousStart: '2019-01-01T00:00:00Z' }
    const ends = { ContractEnd: '2030-01-01T00:00:00Z', EmploymentEnd: '2031-01-01T00:00:00Z' }
    const written = { ...texts, CompanyId, ManagerId, ...starts, ...ends }
    const { id } = await createRow(server, '/Employees', written)
    const expected = Object.entries(written).map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value])
    const copies = { id, displayName: 'Ada Byron', company: 'Acme', manager: 'Boss' }
    expect((await server.get(`/Employees/${id}`)).body).toEqual({ ...Object.fromEntries(expected), ...copies })
  })

  test.each(Object.keys(texts))('D10, D11: %s is text up to 200 code points', async (name) => {
    expect((await server.post('/Employees', { [name]: 'é'.repeat(200) })).status).toBe(201)
    expect(errorOf(await server.post('/Employees', { [name]: 'é'.repeat(201) }))).toEqual(refused(name))
    expect(errorOf(await server.post('/Employees', { [name]: 1 }))).toEqual(refused(name))
  })

  test.each([
    [{ KnownAs: 'Ada', FirstName: 'Augusta', LastName: 'Byron' }, 'Ada Byron'],
    [{ FirstName: 'Augusta', LastName: 'Byron' }, 'Augusta Byron'],
    [{ KnownAs: '', FirstName: 'Augusta', LastName: 'Byron' }, 'Augusta Byron'],
    [{ KnownAs: 'Ada' }, 'Ada'],
    [{ FirstName: 'Augusta' }, 'Augusta'],
    [{ LastName: 'Byron' }, 'Byron'],
    [{ MiddleName: 'King', Title: 'Ms' }, null],
    [{}, null],
  ])('D11: the display name of %j is %p', async (names, displayName) => {
    expect((await createRow(server, '/Employees', names)).displayName).toBe(displayName)
  })

  test('D11: two names of full length make a display name of 401', async () => {
    const row = await createRow(server, '/Employees', { FirstName: '🦊'.repeat(200), LastName: 'x'.repeat(200) })
    expect(row.displayName).toBe(`${'🦊'.repeat(200)} ${'x'.repeat(200)}`)
  })
})

describe('2 Absence', () => {
  test('its fields', async () => {
    const row = await createRow(server, '/Absences', { Period: { Days: 1 } })
    expect(Object.keys(row)).toEqual([...['id', 'status', 'employeeId', 'employee', 'type', 'reason', 'start', 'end', 'period']])
    expect(Object.keys(row.period)).toEqual(['prefered', 'days', 'hours'])
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

  test.each(['Status', 'Type', 'Reason'])('D12: %s is any text of up to 100 characters', async (name) => {
    const longest = 'ü'.repeat(100)
    expect(await createRow(server, '/Absences', { [name]: longest })).toMatchObject({ [name.toLowerCase()]: longest })
    expect(errorOf(await server.post('/Absences', { [name]: 'x'.repeat(101) }))).toEqual(refused(name))
  })

  test('D12: so is period.prefered', async () => {
    const longest = '🦊'.repeat(100)
    const row = await createRow(server, '/Absences', { Period: { Prefered: longest } })
    expect(row.period.prefered).toBe(longest)
    const answer = await server.post('/Absences', { Period: { Prefered: 'x'.repeat(101) } })
    expect(errorOf(answer)).toEqual(refused('Period.Prefered'))
  })

  test('D12: no transitions of status are enforced', async () => {
    const { id } = await createRow(server, '/Absences', { Status: 'Cancelled' })
    for (const Status of ['Requested', 'Approved', 'Declined', 'Requested', 'Whatever', null]) {
      const { status, body } = await server.patch(`/Absences/${id}`, { Status })
      expect({ status, stored: body.status }).toEqual({ status: 200, stored: Status })
    }
  })
})
