import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRow, listed } from '../support/rows.ts'
import { errorOf, type Json, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const missing = (target: string) => ({ status: 409, code: 'ReferenceNotFound', target })
const one = async (path: string) => (await server.get(path)).body

describe('D16 references', () => {
  const references = [
    ['/Absences', 'EmployeeId'],
    ['/Employees', 'CompanyId'],
    ['/Employees', 'ManagerId'],
  ] as const

  test.each(references)('of %s, %s that names no row is 409 for POST, PUT and PATCH', async (path, name) => {
    const before = await createRow(server, path, {})
    for (const id of [999_999_999, 0, -1, Number.MAX_SAFE_INTEGER]) {
      expect(errorOf(await server.post(path, { [name]: id }))).toEqual(missing(name))
      expect(errorOf(await server.put(`${path}/${before.id}`, { [name]: id }))).toEqual(missing(name))
      expect(errorOf(await server.patch(`${path}/${before.id}`, { [name]: id }))).toEqual(missing(name))
    }
    expect(await one(`${path}/${before.id}`)).toEqual(before)
  })

  test.each(references)('of %s, %s that is beyond any id is 409 too', async (path, name) => {
    expect(errorOf(await server.post(path, `{"${name}":9007199254740992}`))).toEqual(missing(name))
    expect(errorOf(await server.post(path, `{"${name}":1e30}`))).toEqual(missing(name))
  })

  test.each(references)('of %s, %s that is no integer is 400', async (path, name) => {
    for (const id of ['1', 1.5, true, {}, []])
      expect(errorOf(await server.post(path, { [name]: id }))).toEqual({
        ...{ status: 400, code: 'InvalidValue', target: name },
      })
  })

  test('D9: two references that name no row are one 409 with both in Details', async () => {
    const { status, body } = await server.post('/Employees', { CompanyId: 999_999_999, ManagerId: 999_999_998 })
    expect([status, body.Error.Code, body.Error.Target]).toEqual([409, 'ReferenceNotFound', 'Body'])
    const faults = body.Error.Details.map(({ Code, Target }: Json) => `${Code} ${Target}`)
    expect(faults.sort()).toEqual(['ReferenceNotFound CompanyId', 'ReferenceNotFound ManagerId'])
  })

  test('deleting a row that others refer to is 409, and nothing is deleted', async () => {
    const company = await createRow(server, '/Companies', { Name: 'Acme' })
    const boss = await createRow(server, '/Employees', { FirstName: 'Boss', CompanyId: company.id })
    const report = await createRow(server, '/Employees', { FirstName: 'Report', ManagerId: boss.id })
    const absence = await createRow(server, '/Absences', { EmployeeId: report.id })
    for (const path of [`/Companies/${company.id}`, `/Employees/${boss.id}`, `/Employees/${report.id}`]) {
      expect(errorOf(await server.remove(path))).toMatchObject({ status: 409, code: 'StillReferenced' })
      expect((await server.get(path)).status).toBe(200)
    }
    for (const path of [`/Absences/${absence.id}`, `/Employees/${report.id}`, `/Employees/${boss.id}`])
      expect((await server.remove(path)).status).toBe(204)
    expect((await server.remove(`/Companies/${company.id}`)).status).toBe(204)
  })

  test('an explicit null takes a reference and its copied name away', async () => {
    const { id: CompanyId } = await createRow(server, '/Companies', { Name: 'Acme' })
    const { id } = await createRow(server, '/Employees', { CompanyId })
    const { body } = await server.patch(`/Employees/${id}`, { CompanyId: null })
    expect(body).toMatchObject({ companyId: null, company: null })
    expect((await server.remove(`/Companies/${CompanyId}`)).status).toBe(204)
  })

  test('a changed reference brings the name of the new row', async () => {
    const { id: CompanyId } = await createRow(server, '/Companies', { Name: 'Old' })
    const other = await createRow(server, '/Companies', { Name: 'New' })
    const { id } = await createRow(server, '/Employees', { CompanyId })
    const { body } = await server.patch(`/Employees/${id}`, { CompanyId: other.id })
    expect(body).toMatchObject({ companyId: other.id, company: 'New' })
  })
})

describe('2 Names of rows referred to', () => {
  test('renaming an employee renames in absences and in the manager of reports', async () => {
    const { id } = await createRow(server, '/Employees', { FirstName: 'Augusta', LastName: 'Byron' })
    const report = await createRow(server, '/Employees', { FirstName: 'Report', ManagerId: id })
    const absence = await createRow(server, '/Absences', { EmployeeId: id })
    expect([report.manager, absence.employee]).toEqual(['Augusta Byron', 'Augusta Byron'])
    expect((await server.patch(`/Employees/${id}`, { KnownAs: 'Ada' })).body.displayName).toBe('Ada Byron')
    expect((await one(`/Employees/${report.id}`)).manager).toBe('Ada Byron')
    expect((await one(`/Absences/${absence.id}`)).employee).toBe('Ada Byron')
    expect(await listed(server, '/Absences?Employee=Ada+Byron', 'id')).toEqual([absence.id])
    expect(await listed(server, '/Employees?Manager=Augusta+Byron', 'id')).toEqual([])
  })

  test('renaming a company renames in employees', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Before' })
    const employee = await createRow(server, '/Employees', { CompanyId: id })
    expect(employee.company).toBe('Before')
    await server.put(`/Companies/${id}`, { Name: 'After' })
    expect((await one(`/Employees/${employee.id}`)).company).toBe('After')
    await server.patch(`/Companies/${id}`, { Name: null })
    expect(await one(`/Employees/${employee.id}`)).toMatchObject({ companyId: id, company: null })
    await server.patch(`/Companies/${id}`, { Name: 'Again' })
    expect((await one(`/Employees/${employee.id}`)).company).toBe('Again')
  })

  test('renaming touches no other references', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Twin' })
    const twin = await createRow(server, '/Companies', { Name: 'Twin' })
    const employee = await createRow(server, '/Employees', { CompanyId: twin.id })
    await server.patch(`/Companies/${id}`, { Name: 'Renamed' })
    expect((await one(`/Employees/${employee.id}`)).company).toBe('Twin')
  })

  test('D10: a company whose name is empty text is that to its employees too, not null', async () => {
    const company = await createRow(server, '/Companies', { Name: '' })
    const employee = await createRow(server, '/Employees', { CompanyId: company.id })
    expect(employee.company).toBe('')
    await server.patch(`/Companies/${company.id}`, { Name: null })
    expect((await server.get(`/Employees/${employee.id}`)).body.company).toBeNull()
    await server.patch(`/Companies/${company.id}`, { Name: '=' })
    expect((await server.get(`/Employees/${employee.id}`)).body.company).toBe('=')
  })

  test('an employee who is their own manager, renamed', async () => {
    const { id } = await createRow(server, '/Employees', { FirstName: 'Ada' })
    const path = `/Employees/${id}`
    expect((await server.patch(path, { ManagerId: id })).body).toMatchObject({ managerId: id, manager: 'Ada' })
    const renamed = await server.patch(path, { FirstName: 'Grace' })
    expect(renamed).toMatchObject({ status: 200, body: { displayName: 'Grace', manager: 'Grace' } })
    expect(await one(path)).toEqual(renamed.body)
    const replaced = await server.put(path, { FirstName: 'Hedy', ManagerId: id })
    expect(replaced).toMatchObject({ status: 200, body: { displayName: 'Hedy', manager: 'Hedy' } })
    expect(await one(path)).toEqual(replaced.body)
  })

  test('an employee renamed and made their own manager at once', async () => {
    const { id } = await createRow(server, '/Employees', { FirstName: 'Ada' })
    const { status, body } = await server.patch(`/Employees/${id}`, { FirstName: 'Grace', ManagerId: id })
    expect(status).toBe(200)
    expect(body).toMatchObject({ displayName: 'Grace', managerId: id, manager: 'Grace' })
    expect(await one(`/Employees/${id}`)).toEqual(body)
  })

  test('an employee who is their own manager can be deleted', async () => {
    const { id } = await createRow(server, '/Employees', { FirstName: 'Ada' })
    await server.patch(`/Employees/${id}`, { ManagerId: id })
    expect((await server.remove(`/Employees/${id}`)).status).toBe(204)
  })

  test('a nameless employee is referred to by null, later by the name', async () => {
    const { id, displayName } = await createRow(server, '/Employees', {})
    expect(displayName).toBeNull()
    const report = await createRow(server, '/Employees', { ManagerId: id })
    const absence = await createRow(server, '/Absences', { EmployeeId: id })
    expect([report.managerId, report.manager]).toEqual([id, null])
    expect([absence.employeeId, absence.employee]).toEqual([id, null])
    await server.patch(`/Employees/${id}`, { LastName: 'Byron' })
    expect((await one(`/Employees/${report.id}`)).manager).toBe('Byron')
    expect((await one(`/Absences/${absence.id}`)).employee).toBe('Byron')
    await server.patch(`/Employees/${id}`, { LastName: '' })
    expect(await one(`/Absences/${absence.id}`)).toMatchObject({ employeeId: id, employee: null })
  })

  test('a name goes along a chain: a manager of managers is renamed for direct reports alone', async () => {
    const top = await createRow(server, '/Employees', { FirstName: 'Top' })
    const middle = await createRow(server, '/Employees', { FirstName: 'Middle', ManagerId: top.id })
    const low = await createRow(server, '/Employees', { FirstName: 'Low', ManagerId: middle.id })
    await server.patch(`/Employees/${top.id}`, { FirstName: 'Summit' })
    expect((await one(`/Employees/${middle.id}`)).manager).toBe('Summit')
    expect((await one(`/Employees/${low.id}`)).manager).toBe('Middle')
  })
})
