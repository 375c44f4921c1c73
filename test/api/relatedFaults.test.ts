import { describe, expect, test } from 'bun:test'
import { useServer } from '../support/start.ts'

const server = useServer()

/** Status, code, target and message of a refused request. */
async function faultOf(path: string): Promise<string> {
  const { status, body } = await server.get(path)
  const { Code, Target, Message } = body.Error ?? {}
  return `${status} ${Code} ${Target}: ${Message}`
}

const FILTERS: Record<string, string> = {
  'EmployeeId.Departmant=Sales': 'Employees have no property "Departmant". Did you mean Department?',
  'employeeid.departmant=Sales': 'Employees have no property "departmant". Did you mean Department?',
  'EmployeeId.CompanyId.Nam=x': 'Companies have no property "Nam". Did you mean Name?',
  'EmployeId.Department=Sales': 'Did you mean EmployeeId.Department?',
  'Employee.Department=Sales': 'Did you mean EmployeeId.Department?',
  'Employee.Company.Name=x': 'Did you mean EmployeeId.CompanyId.Name?',
  'employee_id.department=Sales': 'Did you mean EmployeeId.Department?',
  'employee__company__name=x': 'Did you mean EmployeeId.CompanyId.Name?',
  'Employee/Department=Sales': 'Did you mean EmployeeId.Department?',
  'EmployeeDepartment=Sales': 'Did you mean EmployeeId.Department?',
  'Department=Sales': 'Did you mean EmployeeId.Department?',
  'department[begins]=sa': 'Did you mean EmployeeId.Department?',
  'filter[employee][department]=Sales': 'Write EmployeeId.Department=Sales.',
  'Employee.Department.eq=Sales': 'Write EmployeeId.Department=Sales.',
  'CompanyId=5': 'Did you mean EmployeeId.CompanyId?',
  'EmployeeId[Department]=Sales': 'Did you mean EmployeeId.Department?',
  'EmployeeId.Company.Name=x': 'Employees have no property "Company.Name". Did you mean CompanyId.Name?',
  'Period.Days.Department=x': 'Did you mean Period.Days?',
  'EmployeeId.ManagerId.CompanyId.Name=x': 'A path leads through up to 2 references.',
  'EmployeeId.=x': 'Behind EmployeeId. stands a property of Employees: EmployeeNumber, for example.',
  'EmployeeId.CompanyId.=x': 'Behind CompanyId. stands a property of Companies: Name, for example.',
  '.Department=x': 'Did you mean EmployeeId.Department?',
  'EmployeeId..Department=x': 'Employees have no property ".Department". Did you mean Department?',
  'EmployeeId%2EDepartmant=x': 'Employees have no property "Departmant". Did you mean Department?',
  'EmployeeId.Started%3E2024-01-01T00:00:00Z': 'An operator follows the first =, as in EmployeeId.Started=><value>.',
  'EmployeeId.eq=5': 'Write EmployeeId=5.',
  'EmployeeId.in=5,6': 'Write EmployeeId[]=5&EmployeeId[]=6.',
  'EmployeeId.Department[like]=sal': 'Write EmployeeId.Department[contains]=sal.',
  'EmployeeId.Started[begins2]=x': 'In brackets there are EmployeeId.Started[].',
}

describe('D91: a filter by a path that leads nowhere', () => {
  test.each(Object.entries(FILTERS))('%s is 400 UnknownParameter with a hint', async (query, hint) => {
    const name = decodeURIComponent(query.replace(/=.*/, ''))
    expect(await faultOf(`/Absences?${query}`)).toBe(`400 UnknownParameter ${name}: Absences has no parameter "${name}". ${hint}`)
  })

  test.each([
    ['Companies', 'Department=Sales'],
    ['Companies', 'EmployeeId.Department=Sales'],
    ['Absences', 'EmployeeId.\u0000=x'],
    ['Absences', 'EmployeeId.%0D%0ASet-Cookie=x'],
    ['Absences', 'EmployeeId.__proto__=x'],
    ['Absences', 'EmployeeId.constructor=x'],
    ['Absences', 'EmployeeId.%E2%80%AE=x'],
  ])('of %s by a name that no entity has is 400: %p', async (plural, query) => {
    const answer = await server.get(`/${plural}?${query}`)
    expect([answer.status, answer.body.Error.Code]).toEqual([400, 'UnknownParameter'])
    expect(answer.body.Error.Message).toContain('has no parameter')
  })

  test.each([
    ['x', 2_000],
    ['.', 2_000],
    ['a.', 1_000],
    ['ManagerId.', 200],
  ] as const)('a path that repeats "%s" many times is 400 with a short message', async (part, times) => {
    const text = part.repeat(times)
    for (const query of [`EmployeeId.${text}=x`, `${text}=x`, `fields=EmployeeId.${text}`, `sort=${text}`]) {
      const { status, body } = await server.get(`/Absences?${query}`)
      expect(status).toBe(400)
      expect(JSON.stringify(body).length).toBeLessThan(1_500)
    }
  })
})

describe('D91: a filter by a path with an invalid value or operator', () => {
  test.each<[string, string]>([
    ['EmployeeId.Started=abc', 'EmployeeId.Started must be'],
    ['EmployeeId.CompanyId=abc', 'EmployeeId.CompanyId must be an integer'],
    [
      'EmployeeId.CompanyId.Enabled=%3E1',
      'EmployeeId.CompanyId.Enabled is true or false: it can be compared with =, != and [], not with >.',
    ],
    ['EmployeeId.Department=%3E', 'EmployeeId.Department needs a value behind >.'],
    ['EmployeeId.Department[begins]=', 'EmployeeId.Department needs a value behind [begins].'],
    ['EmployeeId.ManagerId[under]=', 'EmployeeId.ManagerId needs a value behind [under].'],
    ['EmployeeId.ManagerId[under]=abc', 'EmployeeId.ManagerId must be an integer'],
    ['EmployeeId.ManagerId[under]=%3E5', 'EmployeeId.ManagerId must be an integer'],
    ['EmployeeId.ManagerId[under]=1.5', 'EmployeeId.ManagerId must be an integer'],
    [
      'EmployeeId[under]=5',
      'EmployeeId is an integer: it can be compared with =, !=, <, <=, >, >= and [], not with [under]. [under] takes references to rows of their own kind, as EmployeeId.ManagerId.',
    ],
    [
      'EmployeeId.Department[under]=5',
      'EmployeeId.Department is a text of at most 200 characters: it can be compared with =, !=, <, <=, >, >=, [], [begins] and [contains], not with [under]. [under] takes references to rows of their own kind, as EmployeeId.ManagerId.',
    ],
    [
      'EmployeeId.CompanyId=eq.5',
      'EmployeeId.CompanyId must be an integer: digits, after a minus sign or not. Write EmployeeId.CompanyId=5.',
    ],
  ])('%s is 400 InvalidFilter', async (query, message) => {
    const [name = ''] = query.split(/[[=]/)
    expect(await faultOf(`/Absences?${query}`)).toStartWith(`400 InvalidFilter ${name}: ${message}`)
  })

  test('[under] on an entity without a reference to itself is refused, and the message says so', async () => {
    expect(await faultOf('/Companies?Name[under]=5')).toEndWith(
      'not with [under]. [under] takes references to rows of their own kind, of which Companies have none.',
    )
  })

  test('[under] of an id that no row has finds no rows, however large the id is', async () => {
    for (const id of ['0', '-1', '9007199254740993', '9'.repeat(40)]) {
      const { status, body } = await server.get(`/Employees?ManagerId[under]=${id}`)
      expect([status, body]).toEqual([200, []])
    }
  })

  test.each(['EmployeeId.Department=a', 'EmployeeId.ManagerId[under]=1'])(
    'a request with 8 filters such as %s is 200, and with 9 it is 400 TooManyFilters',
    async (filter) => {
      const times = (count: number) => `/Absences?${Array.from({ length: count }, () => filter).join('&')}`
      expect((await server.get(times(8))).status).toBe(200)
      expect(await faultOf(times(9))).toBe(
        `400 TooManyFilters Api: A request may have up to 8 filters by paths or by [under], as by ${filter.split(/[[=]/)[0]}.`,
      )
    },
  )

  test('[under] on a reference of the row itself counts toward the limit of 8, and several values of [] count as one', async () => {
    const chains = Array.from({ length: 9 }, (_, index) => `ManagerId[under]=${index + 1}`)
    expect((await server.get(`/Employees?${chains.slice(1).join('&')}`)).status).toBe(200)
    expect(await faultOf(`/Employees?${chains.join('&')}`)).toStartWith('400 TooManyFilters')
    const values = Array.from({ length: 20 }, (_, index) => `EmployeeId.CompanyId[]=${index + 1}`)
    expect((await server.get(`/Absences?${values.join('&')}`)).status).toBe(200)
  })
})

describe('D91: a faulty path in other parameters is 400', () => {
  test.each([
    [
      'fields=Id,EmployeeId.Departmant',
      'InvalidFields fields: Absences have no "EmployeeId.Departmant". Employees have no property "Departmant". Did you mean Department?',
    ],
    ['fields=Department', 'InvalidFields fields: Absences have no property "Department". Did you mean EmployeeId.Department?'],
    [
      'fields=Employee.Department',
      'InvalidFields fields: Absences have no property "Employee.Department". Did you mean EmployeeId.Department?',
    ],
    [
      'fields=EmployeeId.',
      'InvalidFields fields: Absences have no "EmployeeId.". Behind EmployeeId. stands a property of Employees: EmployeeNumber, for example.',
    ],
    [
      'fields=EmployeeId.ManagerId.ManagerId.Id',
      'InvalidFields fields: Absences have no "EmployeeId.ManagerId.ManagerId.Id". A path leads through up to 2 references.',
    ],
    [
      'sort=EmployeeId.Department',
      'InvalidSort sort: Absences cannot be sorted by EmployeeId.Department, which stands in another row. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=-employeeid.department',
      'InvalidSort sort: Absences cannot be sorted by EmployeeId.Department, which stands in another row. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=EmployeeId.Departmant',
      'InvalidSort sort: Absences cannot be sorted by "EmployeeId.Departmant". Employees have no property "Departmant". Did you mean Department? Lists are sorted by properties of their own rows. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=-employeeId.CompanyId.Nam',
      'InvalidSort sort: Absences cannot be sorted by "employeeId.CompanyId.Nam". Companies have no property "Nam". Did you mean Name? Lists are sorted by properties of their own rows. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=EmployeeId.Department:desc',
      'InvalidSort sort: Absences cannot be sorted by EmployeeId.Department, which stands in another row. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=EmployeId.Department',
      'InvalidSort sort: Absences cannot be sorted by EmployeeId.Department, which stands in another row. Sort by a copied property: Employee; or in the client.',
    ],
    [
      'sort=Department',
      'InvalidSort sort: Absences cannot be sorted by EmployeeId.Department, which stands in another row. Sort by a copied property: Employee; or in the client.',
    ],
  ])('in a list of absences with %s', async (query, fault) => {
    expect(await faultOf(`/Absences?${query}`)).toBe(`400 ${fault}`)
  })

  test.each([
    [
      'groupBy=EmployeeId.Departmant',
      'InvalidGroupBy groupBy: Absences have no "EmployeeId.Departmant". Employees have no property "Departmant". Did you mean Department?',
    ],
    ['groupBy=Department', 'InvalidGroupBy groupBy: Absences have no property "Department". Did you mean EmployeeId.Department?'],
    [
      'groupBy=month(EmployeeId.Department)',
      'InvalidGroupBy groupBy: EmployeeId.Department is a text of at most 200 characters: month() takes a date or a date-time: Start or End.',
    ],
    [
      'sum=EmployeeId.CompanyId',
      'InvalidAggregate sum: EmployeeId.CompanyId is the id of another row (Company): sum takes Period.Days or Period.Hours.',
    ],
    ['sum=EmployeeId.Id', 'InvalidAggregate sum: EmployeeId.Id is the id of the row: sum takes Period.Days or Period.Hours.'],
    ['sum=Department', 'InvalidAggregate sum: Absences have no property "Department". There are Period.Days and Period.Hours.'],
    [
      'groupBy=EmployeeId.Department,employeeid.department',
      'InvalidGroupBy groupBy: EmployeeId.Department and EmployeeId.Department group by one property: give one of the two.',
    ],
    [
      'groupBy=Type&sort=EmployeeId.Department',
      'InvalidSort sort: These groups can be sorted by Type or count, not by "EmployeeId.Department". To sort by EmployeeId.Department, group by it.',
    ],
    [
      'groupBy=Type&sort=EmployeeId.Departmant',
      'InvalidSort sort: These groups can be sorted by Type or count, not by "EmployeeId.Departmant". Employees have no property "Departmant". Did you mean Department?',
    ],
    [
      'groupBy=EmployeeId.Department&sort=EmployeeId.Departmant',
      'InvalidSort sort: These groups can be sorted by EmployeeId.Department or count, not by "EmployeeId.Departmant". Did you mean EmployeeId.Department?',
    ],
  ])('in a summary of absences with %s', async (query, fault) => {
    expect(await faultOf(`/Absences/Summary?${query}`)).toBe(`400 ${fault}`)
  })

  test('in the fields of a row', async () => {
    const { status, body } = await server.post('/Employees', { FirstName: 'Ann' })
    expect(status).toBe(201)
    expect(await faultOf(`/Employees/${body.id}?fields=CompanyId.Nam`)).toBe(
      '400 InvalidFields fields: Employees have no "CompanyId.Nam". Companies have no property "Nam". Did you mean Name?',
    )
    expect(await faultOf(`/Employees/${body.id}?CompanyId.Name=x`)).toStartWith('400 UnknownParameter CompanyId.Name: ')
  })
})

describe('D91: a path in a body is refused', () => {
  const HINT = 'The properties after EmployeeId. are those of another row: write them there.'

  test.each(['EmployeeId.Department', 'employeeId.department', 'EmployeeId.', 'employeeid.CompanyId.Name'])(
    '%s is 400 UnknownProperty in POST, PUT and PATCH',
    async (name) => {
      for (const [method, path] of [
        ['post', '/Absences'],
        ['put', '/Absences/1'],
        ['patch', '/Absences/1'],
      ] as const) {
        const { status, body } = await server[method](path, { [name]: 'Sales' })
        expect([status, body.Error.Code, body.Error.Target]).toEqual([400, 'UnknownProperty', name])
        expect(body.Error.Message).toBe(`Absence has no property "${name}". ${HINT}`)
      }
    },
  )

  test('also in a row of an array', async () => {
    const { status, body } = await server.post('/Absences', [{ Type: 'a' }, { 'EmployeeId.Department': 'Sales' }])
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(HINT)
  })
})
