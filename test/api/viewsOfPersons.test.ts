import { expect, test } from 'bun:test'
import { startPlainIssuer } from '../support/plainIssuer.ts'
import { createRows } from '../support/rows.ts'
import type { Json } from '../support/server.ts'
import { startServer } from '../support/start.ts'

const ROLES = `
me     Employees?WorkEmail={email}

view   Directory  Employees?EmploymentEnd=&fields=DisplayName,Department

role   employee
  read   Directory?CompanyId={me.CompanyId}
  read   Employees?Id={me.Id}
  read   Absences?EmployeeId={me.Id}
  create Absences?fields=EmployeeId,Type

role   it when {groups} has it
  read   Directory?Department=IT
`

test('D105: persons read a view by the rights of all their roles, and their references may name its rows', async () => {
  const issuer = startPlainIssuer()
  const server = await startServer({ roles: ROLES, environment: { ...issuer.settings } })
  await createRows(server, '/Companies', [{ Name: 'Acme' }, { Name: 'Bolt' }])
  await createRows(server, '/Employees', [
    { FirstName: 'Ann', WorkEmail: 'ann@example.com', CompanyId: 1, Department: 'HR' },
    { FirstName: 'Bob', WorkEmail: 'bob@example.com', CompanyId: 2, Department: 'IT' },
    { FirstName: 'Cy', CompanyId: 1, Department: 'IT' },
    // Has left.
    { FirstName: 'Di', WorkEmail: 'di@example.com', CompanyId: 1, Department: 'IT', EmploymentEnd: '2026-01-31T00:00:00Z' },
  ])
  const ask = async (name: string, path: string, claims: object = {}, body?: object) => {
    const authorization = `Bearer ${issuer.token({ sub: name, email: `${name}@example.com`, email_verified: true, ...claims })}`
    const answer = await fetch(server.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Json }
  }
  const namesOf = async (name: string, path: string, claims?: object) =>
    (await ask(name, path, claims)).body.map(({ displayName }: Json) => displayName)

  expect(await namesOf('ann', '/Directory')).toEqual(['Ann', 'Cy'])
  expect(await namesOf('ann', '/Directory', { groups: ['it'] })).toEqual(['Ann', 'Bob', 'Cy'])
  expect(await namesOf('bob', '/Directory?sort=-DisplayName')).toEqual(['Bob'])
  expect((await ask('ann', '/Directory/3')).body).toEqual({ id: 3, displayName: 'Cy', department: 'IT' })
  expect((await ask('bob', '/Directory/3')).status).toBe(404)
  expect((await ask('ann', '/Directory/Summary?groupBy=Department')).body).toEqual([
    { department: 'HR', count: 1 },
    { department: 'IT', count: 1 },
  ])

  // A right to a view is not a right to the entity, whose rows have all properties.
  expect(await namesOf('ann', '/Employees')).toEqual(['Ann'])
  expect((await ask('ann', '/Employees/3')).status).toBe(404)

  const create = async (name: string, EmployeeId: number) => {
    const { status, body } = await ask(name, '/Absences', {}, { EmployeeId, Type: 'Other' })
    return status === 201 ? 201 : body.Error.Code
  }
  expect(await create('ann', 3)).toBe(201)
  expect(await create('ann', 2)).toBe('ReferenceNotFound')
  // Di is no longer in the directory, but reads her own row.
  expect(await create('ann', 4)).toBe('ReferenceNotFound')
  expect(await create('di', 4)).toBe(201)

  expect((await ask('ann', '/Rights', { groups: ['it'] })).body).toMatchObject([
    { text: 'read Directory?CompanyId=1', collection: 'Directory', verb: 'read' },
    { text: 'read Employees?Id=1', collection: 'Employees' },
    { text: 'read Absences?EmployeeId=1' },
    { text: 'create Absences?fields=EmployeeId,Type' },
    { text: 'read Directory?Department=IT', collection: 'Directory' },
  ])
  const { paths } = (await ask('ann', '/openapi.json')).body
  expect(Object.keys(paths).filter((path) => path.startsWith('/Directory'))).toEqual([
    '/Directory',
    '/Directory/Summary',
    '/Directory/{id}',
  ])
  // A person without a row has no role, so every path is 403.
  expect((await ask('eve', '/Directory')).body.Error.Code).toBe('Forbidden')
  expect((await ask('eve', '/Directories')).body.Error.Code).toBe('Forbidden')
})
