// A person whose rights lack values may do less than others, and never more. D100
import { describe, expect, test } from 'bun:test'
import { AUDIENCE } from '../support/issuer.ts'
import { insertPeople } from '../support/people.ts'
import { startPlainIssuer } from '../support/plainIssuer.ts'
import { startServer } from '../support/start.ts'

const COLLEAGUES = 'view Colleagues Employees?EmploymentEnd=&fields=Id,JobTitle\n'
const ALL = `me Employees?WorkEmail={email}
role all
  read Absences?fields=Id,EmployeeId
  create Absences?fields=EmployeeId,Reason
  update Absences?EmployeeId={me.Id}&fields=EmployeeId becomes EmployeeId=>0
`
const READS = '  read Employees?Department[]={departments}&fields=Id'

/** A server on which Ann (3) is an employee, and Mia (2) the only one in the department Sales. */
async function startWith(roles: string) {
  const issuer = startPlainIssuer()
  const server = await startServer({ environment: { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE }, roles })
  await insertPeople(server.sql)
  await server.sql`update employee set department = 'Sales' where id = 2`
  /** Returns the statuses of four writes by Ann, which refer to Mia and to Bob, who is in no department. */
  return async (departments: unknown) => {
    const email = 'ann@acme.example'
    const headers = { authorization: `Bearer ${issuer.token({ email, email_verified: true, departments })}` }
    const statuses: number[] = []
    for (const EmployeeId of [2, 4]) {
      statuses.push((await server.send('POST', '/Absences', { EmployeeId, Reason: 'x' }, headers)).status)
      statuses.push((await server.send('PATCH', '/Absences/1', { EmployeeId }, headers)).status)
      await server.sql`update absence set employee_id = 3, employee_key = (select display_name_key from employee where id = 3) where id = 1`
    }
    return statuses
  }
}

describe('a reference is 409 if the right to read the referenced rows', () => {
  test.each([
    ['lacks a value', ALL + READS],
    ['is to a view and lacks a value', `${COLLEAGUES}${ALL}  read Colleagues?Department[]={departments}`],
    ['is of another role and lacks a value', `${ALL}role more\n${READS}`],
  ])('%s', async (_what, roles) => {
    const statusesFor = await startWith(roles)
    expect(await statusesFor(['Sales'])).toEqual([201, 200, 409, 409])
    for (const departments of [['Law'], undefined, null, '', [], ['Sales', '']])
      expect([departments, await statusesFor(departments)]).toEqual([departments, [409, 409, 409, 409]])
  })
})

test('A reference may name the rows that another right shows, if one of several rights lacks a value', async () => {
  const statusesFor = await startWith(`${COLLEAGUES}${ALL}${READS}\n  read Colleagues?Id=2`)
  expect(await statusesFor(undefined)).toEqual([201, 200, 409, 409])
})

test('A reference may name any row if the roles that apply have no right to read such rows', async () => {
  const statusesFor = await startWith(`${ALL}role more when {groups} has more\n${READS}`)
  expect(await statusesFor(['Sales'])).toEqual([201, 200, 201, 200])
})
