import { beforeAll, describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { KEY } from '../support/server.ts'
import { useServer } from '../support/start.ts'
import { createRoster } from './roster.ts'

const server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))
let roster: ReturnType<typeof createRoster>
beforeAll(async () => {
  roster = createRoster({ url: server.url, key: KEY })
})

describe('D91: paths in the client', () => {
  test('a list has properties of related rows, through one and two references, under their whole paths', async () => {
    const { rows } = await roster.absences.list({
      fields: ['id', 'employeeId.department', 'employeeId.companyId.name'],
      filter: { 'employeeId.department': { any: ['Engineering', null] }, 'employeeId.started': { '<': new Date() } },
      pageSize: 50,
    })
    const expected = await server.sql`
      select absence.id::int, employee.department as "employeeId.department", company.name as "employeeId.companyId.name"
      from absence join employee on employee.id = employee_id left join company on company.id = company_id
      where (department = 'Engineering' or department is null) and started < now() order by absence.id`
    expect<unknown>(rows).toEqual([...expected])
    expect(rows.length).toBeGreaterThan(5)
  })

  test('`under` finds the rows below a row, at any depth', async () => {
    await roster.employees.update(4, { managerId: 1 })
    const below = await server.sql`with recursive below as (
      select id from employee where id = 2 union select employee.id from employee join below on manager_id = below.id)
      select id::int from employee where manager_id in (select id from below) order by id`
    const { rows } = await roster.employees.list({ filter: { managerId: { under: 2 } }, fields: ['id'], pageSize: 50 })
    expect<unknown>(rows).toEqual([...below])
    expect(rows).toContainEqual({ id: 4 })
  })

  test('a summary can group by a path; a group by a copied name also has the id of the row with this name', async () => {
    const { groups } = await roster.absences.summary({ groupBy: ['employeeId.department'], sum: ['period.days'] })
    const expected = await server.sql`
      select department as "employeeId.department", count(*)::int as count, sum(period_days)::float as days
      from absence left join employee on employee.id = employee_id group by 1 order by 1`
    const own = expected.map(({ days, ...group }) => ({ ...group, sum: { period: { days } } }))
    expect<unknown>(groups).toEqual(own)
    const named = await roster.absences.summary({ groupBy: ['employee'], sort: ['-count', 'employee'] })
    expect(Object.keys(named.groups[0] ?? {})).toEqual(['employee', 'employeeId', 'count'])
  })

  test('versionOf refuses a row with properties of other rows, since no write could expect its version', async () => {
    const own = await roster.employees.get(2, { fields: ['id', 'managerId'] })
    expect(roster.employees.versionOf(own)).toStartWith('"')
    const shown = await roster.employees.get(2, { fields: ['id', 'managerId.displayName'] })
    expect(() => roster.employees.versionOf(shown)).toThrow('without properties of other rows')
  })
})
