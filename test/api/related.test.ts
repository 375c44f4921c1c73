import { beforeAll, describe, expect, test } from 'bun:test'
import { createRows } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

beforeAll(async () => {
  await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Beta' }])
  await createRows(server, '/Employees', [
    { FirstName: 'Ann', LastName: 'Lee', Department: 'Sales', CompanyId: 1 },
    { FirstName: 'Bob', LastName: 'Ray', Department: 'Sales', CompanyId: 2, ManagerId: 1 },
    { FirstName: 'Cid', LastName: 'Fox', Department: 'Staff', ManagerId: 2 },
    { FirstName: 'Ann', LastName: 'Lee', CompanyId: 1 },
  ])
  await server.patch('/Employees/4', { ManagerId: 4 })
  const absences = [1, 1, 2, 3, 4, null].map((EmployeeId, index) => ({ EmployeeId, Reason: `${index}`, Period: { Days: index } }))
  await createRows(server, '/Absences', absences)
})

/** Reasons of the absences that match. */
async function reasons(query: string): Promise<string> {
  const { status, body } = await server.get(`/Absences?${query}&sort=Id`)
  return status === 200
    ? body.map(({ reason }: { reason: string }) => reason).join('')
    : `${body.Error.Code}: ${body.Error.Message}`
}

describe('D91: filters by a path', () => {
  test.each([
    ['a property of the related row', 'EmployeeId.Department=Sales', '012'],
    ['a path in upper or lower case', 'employeeid.DEPARTMENT=Sales', '012'],
    ['two filters must hold for the same related row', 'EmployeeId.Department=Sales&EmployeeId.CompanyId=2', '2'],
    ['a path through two references', 'EmployeeId.CompanyId.Name=Acme', '014'],
    ['!= is the complement of =, so it finds rows without a reference', 'EmployeeId.Department=!=Sales', '345'],
    ['without a value, as are rows without a reference', 'EmployeeId.Department=', '45'],
    ['with a value', 'EmployeeId.Department=!=', '0123'],
    ['without a value, through two references', 'EmployeeId.CompanyId.Name=', '35'],
    ['[] with no value', 'EmployeeId.Department[]=Staff&EmployeeId.Department[]=', '345'],
    ['[begins]', 'EmployeeId.DisplayName[begins]=ANN', '014'],
    ['> does not find rows without a value', 'EmployeeId.Department=>S', '0123'],
    ['[under] beyond a reference', 'EmployeeId.ManagerId[under]=1', '23'],
    ['[under] in a loop', 'EmployeeId.ManagerId[under]=4', '4'],
  ])('%s: %s finds the absences %s', async (_, query, found) => {
    expect(await reasons(query)).toBe(found)
  })
})

describe('D91: fields by a path', () => {
  test('A list shows chosen fields under the whole path', async () => {
    const { body, headers } = await server.get(
      '/Absences?fields=Id,EmployeeId.Department,EmployeeId.CompanyId.Name,Employee&sort=-Id&PageSize=5',
    )
    expect(body.slice(0, 3)).toEqual([
      { id: 6, employee: null, 'employeeId.department': null, 'employeeId.companyId.name': null },
      { id: 5, employee: 'Ann Lee', 'employeeId.department': null, 'employeeId.companyId.name': 'Acme' },
      { id: 4, employee: 'Cid Fox', 'employeeId.department': 'Staff', 'employeeId.companyId.name': null },
    ])
    expect(headers.get('X-Total-Count')).toBe('6')
    const next = await server.get('/Absences?fields=Id,EmployeeId.Department&page=2&PageSize=5')
    expect(next.body).toEqual([{ id: 6, 'employeeId.department': null }])
  })

  test('A row and a CSV have chosen fields, also through a self-reference', async () => {
    const row = await server.get('/Employees/3?fields=Id,ManagerId.DisplayName,ManagerId.ManagerId.Department')
    expect(row.body).toEqual({ id: 3, 'managerId.displayName': 'Bob Ray', 'managerId.managerId.department': 'Sales' })
    const csv = await server.get('/Employees?fields=Id,ManagerId.Department&sort=Department', { Accept: 'text/csv' })
    expect(csv.text.split('\r\n')).toEqual(['id,managerId.department', '1,', '2,Sales', '3,Sales', '4,', ''])
  })
})

describe('D91: groups by a path', () => {
  test('A summary of absences has groups by department, and by company', async () => {
    const days = await server.get('/Absences/Summary?groupBy=EmployeeId.Department&sum=Period.Days')
    expect(days.body).toEqual([
      { 'employeeId.department': 'Sales', count: 3, sum: { period: { days: 3 } } },
      { 'employeeId.department': 'Staff', count: 1, sum: { period: { days: 3 } } },
      { 'employeeId.department': null, count: 2, sum: { period: { days: 9 } } },
    ])
    const least = await server.get(
      '/Absences/Summary?groupBy=EmployeeId.CompanyId.Name&maximum=EmployeeId.Department&EmployeeId.Department=!=',
    )
    expect(least.body).toEqual([
      { 'employeeId.companyId.name': 'Acme', count: 2, maximum: { 'employeeId.department': 'Sales' } },
      { 'employeeId.companyId.name': 'Beta', count: 1, maximum: { 'employeeId.department': 'Sales' } },
      { 'employeeId.companyId.name': null, count: 1, maximum: { 'employeeId.department': 'Staff' } },
    ])
  })

  test('D92: a group by a copied name also has its reference, so that people of one name are different groups', async () => {
    const { body } = await server.get('/Absences/Summary?groupBy=Employee&sum=Period.Days')
    expect(body.map(({ employee, employeeId, count }: Record<string, unknown>) => [employee, employeeId, count])).toEqual([
      ['Ann Lee', 1, 2],
      ['Ann Lee', 4, 1],
      ['Bob Ray', 2, 1],
      ['Cid Fox', 3, 1],
      [null, null, 1],
    ])
  })
})

describe('D91: faults in filters by a path', () => {
  test.each([
    [
      'EmployeeId.Departmant=Sales',
      'UnknownParameter: Absences has no parameter "EmployeeId.Departmant". Employees have no property "Departmant". Did you mean Department?',
    ],
    [
      'EmployeeId.CompanyId.Nam=x',
      'UnknownParameter: Absences has no parameter "EmployeeId.CompanyId.Nam". Companies have no property "Nam". Did you mean Name?',
    ],
    [
      'EmployeeId.ManagerId.CompanyId.Name=x',
      'UnknownParameter: Absences has no parameter "EmployeeId.ManagerId.CompanyId.Name". A path leads through up to 2 references.',
    ],
  ])('%s is refused with a hint', async (query, fault) => {
    expect(await reasons(query)).toBe(fault)
  })
})

describe('D91: related values change', () => {
  const tagOf = async (path: string, more: Record<string, string> = {}) => {
    const { status, headers } = await server.get(path, more)
    return { status, tag: headers.get('ETag') ?? '' }
  }

  test.each([
    ['a list', '/Absences?EmployeeId=3&fields=Id,EmployeeId.Department'],
    ['a list that only filters by them', '/Absences?EmployeeId.Department=Staff&fields=Id'],
    ['a summary', '/Absences/Summary?groupBy=EmployeeId.Department'],
    ['a row', '/Absences/4?fields=Id,EmployeeId.Department'],
  ])('the ETag of %s changes with the related values, and is 304 while they are the same', async (_, path) => {
    const before = await tagOf(path)
    expect(before.tag).toStartWith('W/"')
    expect(await tagOf(path, { 'If-None-Match': before.tag })).toEqual({ status: 304, tag: before.tag })
    expect((await server.patch('/Employees/3', { Department: 'Other' })).status).toBe(200)
    const after = await tagOf(path, { 'If-None-Match': before.tag })
    expect([after.status, after.tag === before.tag]).toEqual([200, false])
    expect((await server.patch('/Employees/3', { Department: 'Staff' })).status).toBe(200)
    expect(await tagOf(path, { 'If-None-Match': before.tag })).toEqual({ status: 304, tag: before.tag })
  })

  test('a PATCH with If-Match and the weak ETag of a row with related values is 412', async () => {
    const { tag } = await tagOf('/Absences/4?fields=Id,EmployeeId.Department')
    expect((await server.send('PATCH', '/Absences/4', { Type: 'a' }, { 'If-Match': tag })).status).toBe(412)
  })

  test('a CSV for Excel has related values in the form that spreadsheets read', async () => {
    await server.patch('/Employees/2', { Department: '=1+1', Started: '2024-02-29T08:00:00Z' })
    const path = '/Absences?fields=Id,EmployeeId.Department,EmployeeId.Started&EmployeeId.CompanyId.Name=Beta&excel=1&locale=de'
    const { text } = await server.get(path, { Accept: 'text/csv' })
    expect(text).toBe("id;employeeId.department;employeeId.started\r\n3;'=1+1;2024-02-29 08:00:00\r\n")
  })
})
