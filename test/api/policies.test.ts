import { beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyTables } from '../support/rows.ts'
import { type Json, makeKey, type TestKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const page = readFileSync(join(import.meta.dir, '../../docs/keys-and-limits.md'), 'utf8')
const table = page.split('## Policies')[1]?.split('\n## ')[0] ?? ''

/** The keys of the policies, as the page has their rights. */
const keys = new Map<string, TestKey>()
for (const [, policy = '', cell = ''] of table.matchAll(/^\| ([A-Z][\w ]*) \| (`.*`) \| [^|]* \|$/gm)) {
  const addresses = [...cell.matchAll(/`([^`]+)`/g)].map(([, right]) => right).join('\n')
  keys.set(policy, makeKey({ name: policy, rights: '', addresses }))
}

const server = useServer({ keys: [...keys.values()].map(({ record }) => record) })

beforeEach(async () => {
  await emptyTables(server.sql)
  await server.sql.unsafe(`
    insert into company (id, name) overriding system value values (5, 'Acme'), (6, 'Zenith');
    insert into employee
      (id, employee_number, first_name, last_name, work_email, company_id, company_key, department, status, employment_end)
      overriding system value
    select made.id, number, first, last, email, company.id, name_key, department, status, left_at::timestamptz
    from (values
      (1, 'E1', 'Ann', 'Lee', 'ann@acme.example', 5, 'Sales', 'Current', null),
      (2, 'E2', 'Ben', 'Fox', null, 6, 'Sales', 'Current', null),
      (3, 'E3', 'Cid', 'Ray', null, 5, 'Legal', 'Left', '2024-06-30T00:00:00Z')
    ) as made (id, number, first, last, email, at, department, status, left_at) join company on company.id = at;
    update employee set manager_id = 1, manager_key = (select display_name_key from employee where id = 1) where id = 2;
    select setval(pg_get_serial_sequence('employee', 'id'), 10);
    insert into absence (id, status, employee_id, employee_key, reason, start, "end") overriding system value
    select made.id, made.status, employee.id, display_name_key, reason, begun::timestamptz, ended::timestamptz
    from (values
      (1, 'Requested', 1, 'Annual Leave', '2026-03-01T00:00:00Z', '2026-03-05T00:00:00Z'),
      (2, 'Approved', 2, 'Sickness', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z'),
      (3, 'Declined', 1, 'Annual Leave', '2023-03-02T00:00:00Z', '2023-03-03T00:00:00Z'),
      (4, 'Requested', 2, 'Annual Leave', '2026-04-02T00:00:00Z', '2026-04-03T00:00:00Z')
    ) as made (id, status, of, reason, begun, ended) join employee on employee.id = of;
    select setval(pg_get_serial_sequence('absence', 'id'), 10)`)
})

/** What each key is tried with: method and path, body or null, status, and members of the answer. */
const TRIED: Record<string, [request: string, body: object | null, status: number, answer?: Json][]> = {
  Payroll: [
    ['GET /Absences', null, 200, [{ id: 2, employeeId: 2 }]],
    ['GET /Absences/1', null, 404],
    ['GET /Absences?Reason=Sickness', null, 400],
    ['GET /Employees?EmployeeNumber=E1', null, 200, [{ id: 1, companyId: 5 }]],
    ['GET /Employees?LastName=Lee', null, 400],
    ['PATCH /Absences/2', { Status: 'Declined' }, 403],
  ],
  Applicants: [
    ['POST /Employees', { FirstName: 'Dan', LastName: 'Orr', CompanyId: 5 }, 201],
    ['POST /Employees', { FirstName: 'Dan', Status: 'Current' }, 400],
    ['GET /Employees', null, 403],
  ],
  'Absence requests': [
    ['POST /Absences', { EmployeeId: 1, Type: 'Holiday', Start: '2026-05-01T00:00:00Z' }, 201],
    ['POST /Absences', { EmployeeId: 1, Status: 'Approved' }, 400],
    ['GET /Absences', null, 403],
  ],
  Approvals: [
    ['PATCH /Absences/1', { Status: 'Approved' }, 200, { id: 1, status: 'Approved' }],
    ['PATCH /Absences/1', { Status: 'Cancelled' }, 403],
    ['PATCH /Absences/2', { Status: 'Declined' }, 403],
    ['PATCH /Absences/1', { Reason: 'Sickness' }, 403],
    ['PUT /Absences/1', { Status: 'Approved' }, 403],
    ['DELETE /Absences/1', null, 403],
  ],
  Provisioning: [
    ['PATCH /Employees/2', { WorkEmail: 'ben@zenith.example' }, 200, { id: 2, workEmail: 'ben@zenith.example' }],
    ['PATCH /Employees/3', { WorkEmail: 'cid@acme.example' }, 404],
    ['PATCH /Employees/2', { JobTitle: 'Chief' }, 403],
    ['PATCH /Employees/2', { Department: 'Legal' }, 400],
  ],
  Directory: [
    ['GET /Employees?sort=DisplayName', null, 200, [{ displayName: 'Ann Lee' }, { displayName: 'Ben Fox' }]],
    ['GET /Employees/3', null, 404],
    ['GET /Employees?sort=Started', null, 400],
  ],
  Calendar: [
    ['GET /Absences', null, 200, [{ employee: 'Ben Fox' }]],
    ['GET /Absences/Summary?groupBy=Reason', null, 400],
  ],
  Partner: [
    ['GET /Companies', null, 200, [{ id: 5 }]],
    ['GET /Employees', null, 200, [{ id: 1 }, { id: 3 }]],
    ['POST /Employees', { FirstName: 'Eve' }, 201, { companyId: 5 }],
    ['POST /Employees', { FirstName: 'Eve', CompanyId: 6 }, 403],
    ['PATCH /Employees/1', { CompanyId: 6 }, 403],
    ['PATCH /Employees/2', { CompanyId: 5 }, 404],
    ['DELETE /Employees/2', null, 404],
    ['DELETE /Employees/3', null, 204],
  ],
  Manager: [
    ['GET /Absences', null, 200, [{ id: 2, employee: 'Ben Fox' }, { id: 4 }]],
    ['GET /Absences?EmployeeId.ManagerId=1', null, 400],
    ['PATCH /Absences/4', { Status: 'Approved' }, 200, { id: 4, status: 'Approved' }],
    ['PATCH /Absences/2', { Status: 'Declined' }, 403],
    ['PATCH /Absences/1', { Status: 'Approved' }, 404],
    ['GET /Changes?entity=Absences', null, 403],
  ],
  'Absences of a company': [
    ['GET /Absences', null, 200, [{ id: 1 }, { id: 3 }]],
    ['GET /Absences/2', null, 404],
    ['POST /Absences', { EmployeeId: 1, Reason: 'Sickness' }, 201, { status: 'Requested', employee: 'Ann Lee' }],
    ['POST /Absences', { EmployeeId: 2, Reason: 'Sickness' }, 409],
    ['POST /Absences', { Reason: 'Sickness' }, 403],
    ['DELETE /Absences/1', null, 204],
    ['DELETE /Absences/3', null, 403],
    ['DELETE /Absences/4', null, 404],
  ],
  Statistics: [
    [
      'GET /Employees/Summary?groupBy=Department',
      null,
      200,
      [
        { department: 'Legal', count: 1 },
        { department: 'Sales', count: 2 },
      ],
    ],
    ['GET /Employees/Summary?groupBy=LastName', null, 400],
  ],
  Offboarding: [
    ['PATCH /Employees/2', { EmploymentEnd: '2026-12-31T00:00:00Z', Status: 'Leaving' }, 200, { status: 'Leaving' }],
    ['GET /Employees?FirstName=Ann', null, 400],
  ],
  Retention: [
    ['GET /Absences', null, 200, [{ id: 3 }]],
    ['DELETE /Absences/3', null, 204],
    ['DELETE /Absences/1', null, 404],
  ],
  Auditor: [
    ['GET /Companies', null, 200],
    ['GET /Employees', null, 200],
    ['GET /Absences', null, 200],
    ['GET /Changes', null, 200],
    ['DELETE /Absences/1', null, 403],
  ],
}

describe('the policies of the page about keys', () => {
  test('are fourteen, and each has a test here', () => {
    expect(keys.size).toBe(14)
    expect([...keys.keys()].sort()).toEqual(Object.keys(TRIED).sort())
  })

  const cases = Object.entries(TRIED).flatMap(([policy, requests]) =>
    requests.map(([request, body, status, answer]) => ({ policy, request, body, status, answer })),
  )
  test.each(cases)('$policy: $request is $status', async ({ policy, request, body, status, answer }) => {
    const [method = '', path = ''] = request.split(' ')
    const { headers } = keys.get(policy) as TestKey
    const found = await server.send(method, path, body ?? undefined, headers)
    expect([found.status, found.text].join(' ')).toStartWith(String(status))
    if (answer !== undefined) expect(found.body).toMatchObject(answer)
  })
})
