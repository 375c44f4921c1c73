import { describe, expect, test } from 'bun:test'
import { expectAll, faultsOf, outcomeOf } from '../support/cases.ts'
import { createRow, listed } from '../support/rows.ts'
import type { Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// test/properties/roundTrips.test.ts writes random references, and the names that rows copy with them.

const server = useServer()

const one = async (path: string) => (await server.get(path)).body
const company = (Name: string | null) => createRow(server, '/Companies', { Name })
const employee = (body: Json) => createRow(server, '/Employees', body)

describe('D16 references', () => {
  const references = [
    ['/Absences', 'EmployeeId'],
    ['/Employees', 'CompanyId'],
    ['/Employees', 'ManagerId'],
  ] as const

  test.each(references)('in a body of %s, %s that names no row is 409 for POST, PUT and PATCH', async (path, name) => {
    const before = await createRow(server, path, {})
    for (const id of ['999999999', '0', '-1', '9007199254740991', '9007199254740992', '1e30']) {
      const body = `{"${name}":${id}}`
      const item = `${path}/${before.id}`
      await expectAll(server, `409 ReferenceNotFound ${name}`, [
        [`POST ${path}`, body],
        [`PUT ${item}`, body],
        [`PATCH ${item}`, body],
      ])
    }
    expect(await one(`${path}/${before.id}`)).toEqual(before)
  })

  test.each(references)('in a body of %s, %s that is not an integer is 400', (path, name) =>
    expectAll(
      server,
      `400 InvalidValue ${name}`,
      ['1', 1.5, true, {}, []].map((id) => [`POST ${path}`, { [name]: id }]),
    ),
  )

  test('D9: two references to missing rows are one 409 with both in Details', async () => {
    const answer = await server.post('/Employees', { CompanyId: 999_999_999, ManagerId: 999_999_998 })
    expect(outcomeOf(answer)).toBe('409 ReferenceNotFound Body')
    expect(faultsOf(answer).sort()).toEqual(['ReferenceNotFound CompanyId', 'ReferenceNotFound ManagerId'])
  })

  test('deleting a referenced row is 409, and nothing is deleted', async () => {
    const { id: CompanyId } = await company('Acme')
    const boss = await employee({ FirstName: 'Boss', CompanyId })
    const report = await employee({ FirstName: 'Report', ManagerId: boss.id })
    const absence = await createRow(server, '/Absences', { EmployeeId: report.id })
    const referred = [`/Employees/${report.id}`, `/Employees/${boss.id}`, `/Companies/${CompanyId}`]
    for (const path of referred) {
      expect((await server.remove(path)).body.Error.Code).toBe('StillReferenced')
      expect((await server.get(path)).status).toBe(200)
    }
    for (const path of [`/Absences/${absence.id}`, ...referred]) expect((await server.remove(path)).status).toBe(204)
  })

  test('a row can be deleted once the last reference to it is null', async () => {
    const { id: CompanyId } = await company('Acme')
    const { id } = await employee({ FirstName: 'Ada', CompanyId })
    await server.patch(`/Employees/${id}`, { CompanyId: null })
    expect((await server.remove(`/Companies/${CompanyId}`)).status).toBe(204)
  })
})

describe('2 Names of referenced rows', () => {
  test('renaming an employee renames them in absences and as the manager of direct reports, and nowhere else', async () => {
    const { id } = await employee({ FirstName: 'Augusta', LastName: 'Byron' })
    const report = await employee({ FirstName: 'Report', ManagerId: id })
    const low = await employee({ FirstName: 'Low', ManagerId: report.id })
    const absence = await createRow(server, '/Absences', { EmployeeId: id })
    expect([report.manager, absence.employee]).toEqual(['Augusta Byron', 'Augusta Byron'])
    expect((await server.patch(`/Employees/${id}`, { KnownAs: 'Ada' })).body.displayName).toBe('Ada Byron')
    expect((await one(`/Employees/${report.id}`)).manager).toBe('Ada Byron')
    expect((await one(`/Employees/${low.id}`)).manager).toBe('Report')
    expect((await one(`/Absences/${absence.id}`)).employee).toBe('Ada Byron')
    expect(await listed(server, '/Absences?Employee=Ada+Byron', 'id')).toEqual([absence.id])
    expect(await listed(server, '/Employees?Manager=Augusta+Byron', 'id')).toEqual([])
  })

  test('D10: renaming a company changes its name in its employees, also to null and to the empty text', async () => {
    const { id } = await company('Twin')
    const twin = await company('Twin')
    const [own, other] = [await employee({ CompanyId: id }), await employee({ CompanyId: twin.id })]
    expect([own.company, other.company]).toEqual(['Twin', 'Twin'])
    for (const Name of ['After', null, '', '=', 'Again']) {
      await server.put(`/Companies/${id}`, { Name })
      expect(await one(`/Employees/${own.id}`)).toMatchObject({ companyId: id, company: Name })
    }
    expect((await one(`/Employees/${other.id}`)).company).toBe('Twin')
  })

  test('an employee who is their own manager can be renamed and deleted', async () => {
    const { id } = await employee({ FirstName: 'Ada' })
    const path = `/Employees/${id}`
    const writes: [string, Json, Json][] = [
      ['PATCH', { ManagerId: id }, { displayName: 'Ada', managerId: id, manager: 'Ada' }],
      ['PATCH', { FirstName: 'Grace' }, { displayName: 'Grace', manager: 'Grace' }],
      ['PUT', { FirstName: 'Hedy', ManagerId: id }, { displayName: 'Hedy', manager: 'Hedy' }],
      ['PATCH', { ManagerId: null }, { displayName: 'Hedy', manager: null }],
      ['PATCH', { FirstName: 'Eve', ManagerId: id }, { displayName: 'Eve', managerId: id, manager: 'Eve' }],
    ]
    for (const [method, body, expected] of writes) {
      const headers = { 'Idempotency-Key': crypto.randomUUID() }
      const answer = await server.send(method, path, body, headers)
      expect(answer).toMatchObject({ status: 200, body: expected })
      expect(await one(path)).toEqual(answer.body)
      const again = await server.send(method, path, body, headers)
      expect([again.headers.get('idempotency-replayed'), again.text]).toEqual(['true', answer.text])
    }
    expect((await server.remove(path)).status).toBe(204)
  })

  test('the copied name of an employee without a name is null, until the employee gets a name', async () => {
    const { id, displayName } = await employee({})
    const report = await employee({ ManagerId: id })
    const absence = await createRow(server, '/Absences', { EmployeeId: id })
    expect([displayName, report.managerId, report.manager]).toEqual([null, id, null])
    expect([absence.employeeId, absence.employee]).toEqual([id, null])
    await server.patch(`/Employees/${id}`, { LastName: 'Byron' })
    expect((await one(`/Employees/${report.id}`)).manager).toBe('Byron')
    expect((await one(`/Absences/${absence.id}`)).employee).toBe('Byron')
    await server.patch(`/Employees/${id}`, { LastName: '' })
    expect(await one(`/Absences/${absence.id}`)).toMatchObject({ employeeId: id, employee: null })
  })
})
