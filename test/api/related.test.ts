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
    ['a property behind a reference', 'EmployeeId.Department=Sales', '012'],
    ['in any case', 'employeeid.DEPARTMENT=Sales', '012'],
    ['two of them must hold for one row', 'EmployeeId.Department=Sales&EmployeeId.CompanyId=2', '2'],
    ['two references', 'EmployeeId.CompanyId.Name=Acme', '014'],
    ['!= is the complement of =, so rows without a reference belong here', 'EmployeeId.Department=!=Sales', '345'],
    ['no value: of rows without a reference, too', 'EmployeeId.Department=', '45'],
    ['a value', 'EmployeeId.Department=!=', '0123'],
    ['no value behind two references', 'EmployeeId.CompanyId.Name=', '35'],
    ['[] with no value', 'EmployeeId.Department[]=Staff&EmployeeId.Department[]=', '345'],
    ['[begins]', 'EmployeeId.DisplayName[begins]=ANN', '014'],
    ['> does not find rows without a value', 'EmployeeId.Department=>S', '0123'],
    ['[under] beyond a reference', 'EmployeeId.ManagerId[under]=1', '23'],
    ['[under] in a loop', 'EmployeeId.ManagerId[under]=4', '4'],
  ])('%s: %s', async (_, query, found) => {
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
  test('Days by department, and by company', async () => {
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

  test('D92: a copied name has its reference beside it, so that people of one name are different groups', async () => {
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

describe('D91: faults', () => {
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
  ])('%s', async (query, fault) => {
    expect(await reasons(query)).toBe(fault)
  })
})
