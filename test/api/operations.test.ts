import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRow, createRows, listed } from '../support/rows.ts'
import { errorOf, type Json, startServer, type TestServer } from '../support/server.ts'

const NOT_FOUND = { status: 404, code: 'NotFound', target: 'Api' }

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

describe('4.1 operations on an entity', () => {
  test('list: 200 with an array of whole entities', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Listed' })
    const { status, body } = await server.get('/Companies?Name=Listed')
    expect({ status, body }).toEqual({ status: 200, body: [{ id, name: 'Listed', enabled: false }] })
  })

  test('get one: 200 with the entity', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const { status, body } = await server.get(`/Companies/${created.id}`)
    expect({ status, body }).toEqual({ status: 200, body: { id: created.id, name: 'Acme', enabled: true } })
  })

  test('rule 1: a create sends only what it sets and gets the whole entity with its id', async () => {
    const { status, body } = await server.post('/Companies', { Name: 'Acme' })
    expect({ status, body }).toEqual({ status: 201, body: { id: expect.any(Number), name: 'Acme', enabled: false } })
    expect((await server.get(`/Companies/${body.id}`)).body).toEqual(body)
  })

  test('rule 1: each create makes a new id', async () => {
    const rows = await createRows(server, '/Companies', [{ Name: 'Twin' }, { Name: 'Twin' }])
    expect(await listed(server, '/Companies?Name=Twin', 'id')).toEqual([rows[0].id, rows[1].id])
    expect(rows[0].id).not.toBe(rows[1].id)
  })

  test('rule 2: a PUT with only Name on an enabled company returns enabled false', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const { status, body } = await server.put(`/Companies/${created.id}`, { Name: 'Acme 2' })
    expect({ status, body }).toEqual({ status: 200, body: { id: created.id, name: 'Acme 2', enabled: false } })
    expect((await server.get(`/Companies/${created.id}`)).body).toEqual(body)
  })

  test('rule 2: a PUT makes every property but booleans null that it leaves out', async () => {
    const written = { Status: 'Approved', Reason: 'r', Start: '2024-01-01T00:00:00Z', Period: { Days: 1 } }
    const { id } = await createRow(server, '/Absences', written)
    const { body } = await server.put(`/Absences/${id}`, { Type: 'Holiday' })
    const nulls = { status: null, employeeId: null, employee: null, reason: null, start: null, end: null, period: null }
    expect(body).toEqual({ ...nulls, id, type: 'Holiday' })
  })

  test('rule 3: a PATCH with only Enabled leaves the name unchanged', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme' })
    const { status, body } = await server.patch(`/Companies/${created.id}`, { Enabled: true })
    expect({ status, body }).toEqual({ status: 200, body: { id: created.id, name: 'Acme', enabled: true } })
    expect((await server.get(`/Companies/${created.id}`)).body).toEqual(body)
  })

  test('rule 3: a PATCH with an explicit null clears just that', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const { body } = await server.patch(`/Companies/${created.id}`, { Name: null })
    expect(body).toEqual({ id: created.id, name: null, enabled: true })
  })

  test('rule 3: a PATCH of nothing changes nothing', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const { status, body } = await server.patch(`/Companies/${created.id}`, {})
    expect({ status, body }).toEqual({ status: 200, body: created })
  })

  test('rules 2 and 3: a write touches no other row', async () => {
    const [one, other] = await createRows(server, '/Companies', [{ Name: 'One' }, { Name: 'Other', Enabled: true }])
    await server.put(`/Companies/${one.id}`, {})
    await server.patch(`/Companies/${one.id}`, { Name: 'x' })
    await server.remove(`/Companies/${one.id}`)
    expect((await server.get(`/Companies/${other.id}`)).body).toEqual(other)
  })

  test('rule 4: a delete answers 204 without a body, and the entity is gone', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Gone' })
    const { status, text, headers } = await server.remove(`/Companies/${id}`)
    expect({ status, text, type: headers.get('content-type') }).toEqual({ status: 204, text: '', type: null })
    expect(errorOf(await server.get(`/Companies/${id}`))).toEqual(NOT_FOUND)
    expect(await server.sql`select id from company where name = 'Gone'`).toHaveLength(0)
  })

  test('rule 4: a second delete is 404', async () => {
    const { id } = await createRow(server, '/Companies', {})
    await server.remove(`/Companies/${id}`)
    expect(errorOf(await server.remove(`/Companies/${id}`))).toEqual(NOT_FOUND)
  })

  test.each([
    ['Companies', { Name: 'a' }, { Name: 'b' }, 'name'],
    ['Employees', { FirstName: 'a' }, { FirstName: 'b' }, 'firstName'],
    ['Absences', { Reason: 'a' }, { Reason: 'b' }, 'reason'],
  ])('rule 5: %s have every operation', async (plural, first, second, key) => {
    const { id } = await createRow(server, `/${plural}`, first)
    const answers = [
      await server.get(`/${plural}`),
      await server.get(`/${plural}/${id}`),
      await server.put(`/${plural}/${id}`, second),
      await server.patch(`/${plural}/${id}`, first),
      await server.remove(`/${plural}/${id}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 204])
    expect(answers.slice(1, 4).map(({ body }) => body[key])).toEqual(['a', 'b', 'a'])
  })

  test('rule 5: the root answers 200', async () => {
    const { status, body } = await server.get('/')
    expect(status).toBe(200)
    expect(Object.values(body.resources)).toEqual(expect.arrayContaining([`${server.url}/Companies`]) as never)
  })

  test('D7: everything may be left out of a create and takes its default', async () => {
    const { status, body } = await server.post('/Companies', {})
    expect({ status, body }).toEqual({ status: 201, body: { id: expect.any(Number), name: null, enabled: false } })
  })

  test('D7: everything may be left out of a PUT and takes its default', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const { status, body } = await server.put(`/Companies/${id}`, {})
    expect({ status, body }).toEqual({ status: 200, body: { id, name: null, enabled: false } })
  })

  test('D7: an explicit null for a boolean is 400, and nothing is written', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const path = `/Companies/${created.id}`
    const refused = { status: 400, code: 'InvalidValue', target: 'Enabled' }
    expect(errorOf(await server.post('/Companies', { Name: 'Null', Enabled: null }))).toEqual(refused)
    expect(errorOf(await server.put(path, { Name: 'Null', Enabled: null }))).toEqual(refused)
    expect(errorOf(await server.patch(path, { Enabled: null }))).toEqual(refused)
    expect((await server.get(path)).body).toEqual(created)
    expect(await listed(server, '/Companies?Name=Null')).toEqual([])
  })

  test('D8: read-only properties of a body are ignored, whatever they hold', async () => {
    const company = await createRow(server, '/Companies', { Id: 999_999, Name: 'Acme' })
    expect(company.id).not.toBe(999_999)
    expect((await server.patch(`/Companies/${company.id}`, { Id: 'x', Enabled: true })).body).toEqual({
      ...{ id: company.id, name: 'Acme', enabled: true },
    })
    const ignored = { DisplayName: 'Z', Company: 'Z', Manager: { a: 1 } }
    const employee = await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId: company.id, ...ignored })
    expect(employee).toMatchObject({ displayName: 'Ada', company: 'Acme', manager: null })
    expect(await createRow(server, '/Absences', { EmployeeId: employee.id, Employee: 'Z' })).toMatchObject({
      employee: 'Ada',
    })
  })

  test('D8: what GET returned can be edited and PUT back whole', async () => {
    const { id: CompanyId } = await createRow(server, '/Companies', { Name: 'Acme' })
    const { id: ManagerId } = await createRow(server, '/Employees', { FirstName: 'Boss' })
    const dates = { Started: '2020-01-01T00:00:00Z', ContractEnd: '2030-01-01T00:00:00Z' }
    const employee = await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId, ManagerId, ...dates })
    const period = { Prefered: 'Days', Days: 1.5 }
    const absence = await createRow(server, '/Absences', {
      EmployeeId: employee.id,
      Start: dates.Started,
      Period: period,
    })
    for (const [path, row, key] of [
      [`/Employees/${employee.id}`, employee, 'location'],
      [`/Absences/${absence.id}`, absence, 'reason'],
    ] as [string, Json, string][]) {
      const edited = { ...row, [key]: 'edited' }
      const { status, body } = await server.put(path, edited)
      expect({ status, body }).toEqual({ status: 200, body: edited })
    }
  })

  test.each(['PUT', 'PATCH'])('D20: %s answers 200 with the updated entity', async (method) => {
    const { id } = await createRow(server, '/Companies', {})
    const { status, body } = await server.send(method, `/Companies/${id}`, { Name: 'New', Enabled: true })
    expect({ status, body }).toEqual({ status: 200, body: { id, name: 'New', enabled: true } })
  })

  test('D20: POST answers 201 with the absolute URL of the new entity as Location', async () => {
    const { status, headers, body } = await server.post('/Companies', { Name: 'Located' })
    const location = headers.get('location') ?? ''
    expect({ status, location }).toEqual({ status: 201, location: `${server.url}/Companies/${body.id}` })
    expect((await server.get(location.slice(server.url.length))).body).toEqual(body)
    const slashed = await server.post('/Companies/', {})
    expect(slashed.headers.get('location')).toBe(`${server.url}/Companies/${slashed.body.id}`)
  })
})
