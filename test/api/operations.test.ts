import { describe, expect, test } from 'bun:test'
import { ask, expectAll } from '../support/cases.ts'
import { createRow, createRows, listed } from '../support/rows.ts'
import { useServer } from '../support/start.ts'

// test/properties/roundTrips.test.ts sends random bodies by POST, PUT and PATCH.

const server = useServer()

describe('4.1 operations on an entity', () => {
  test('rule 1, D20: a create sets only the properties in its body, and gets the whole entity and its address in Location', async () => {
    const { status, headers, body } = await server.post('/Companies', { Name: 'Acme' })
    expect([status, body]).toEqual([201, { id: expect.any(Number), name: 'Acme', enabled: false }])
    expect(headers.get('location')).toBe(`${server.url}/Companies/${body.id}`)
    const read = await server.get(`/Companies/${body.id}`)
    expect([read.status, read.body]).toEqual([200, body])
    const slashed = await server.post('/Companies/', {})
    expect(slashed.headers.get('location')).toBe(`${server.url}/Companies/${slashed.body.id}`)
  })

  test.each([
    ['rule 2: only a Name disables an enabled company', 'PUT', { Name: 'Acme 2' }, { name: 'Acme 2', enabled: false }],
    ['rule 2, D7: an empty body clears the company', 'PUT', {}, { name: null, enabled: false }],
    ['rule 3: only Enabled leaves the name unchanged', 'PATCH', { Enabled: false }, { name: 'Acme', enabled: false }],
    ['rule 3: an explicit null clears only this property', 'PATCH', { Name: null }, { name: null, enabled: true }],
    ['rule 3: an empty body changes nothing', 'PATCH', {}, { name: 'Acme', enabled: true }],
    ['D20: all', 'PUT', { Name: 'New', Enabled: false }, { name: 'New', enabled: false }],
    ['D20: all', 'PATCH', { Name: 'New', Enabled: false }, { name: 'New', enabled: false }],
    ['D8: a read-only property is ignored', 'PATCH', { Id: 'x', Enabled: false }, { name: 'Acme', enabled: false }],
  ])('%s: a %s of %j returns the whole entity, and changes no other', async (_, method, body, expected) => {
    const [{ id }, other] = await createRows(server, '/Companies', [{ Name: 'Acme', Enabled: true }, { Name: 'Other' }])
    const answer = await ask(server, [`${method} /Companies/${id}`, body])
    expect([answer.status, answer.body]).toEqual([200, { id, ...expected }])
    expect((await server.get(`/Companies/${id}`)).body).toEqual(answer.body)
    expect((await server.get(`/Companies/${other.id}`)).body).toEqual(other)
  })

  test('rule 4: a delete answers 204 without a body, the entity is gone, and a second delete is 404', async () => {
    const [{ id }, other] = await createRows(server, '/Companies', [{ Name: 'Gone' }, { Name: 'Other' }])
    const { status, text, headers } = await server.remove(`/Companies/${id}`)
    expect([status, text, headers.get('content-type')]).toEqual([204, '', null])
    await expectAll(server, '404 NotFound Api', [[`GET /Companies/${id}`], [`DELETE /Companies/${id}`]])
    expect(await server.sql`select id from company where name = 'Gone'`).toHaveLength(0)
    expect((await server.get(`/Companies/${other.id}`)).body).toEqual(other)
  })

  test('rule 5: the root path answers 200', async () => {
    const { status, body } = await server.get('/')
    expect([status, Object.values(body.resources)]).toEqual([200, expect.arrayContaining([`${server.url}/Companies`])])
  })

  test('D7: an explicit null for a boolean is 400, and nothing is written', async () => {
    const created = await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
    const path = `/Companies/${created.id}`
    await expectAll(server, '400 InvalidValue Enabled', [
      ['POST /Companies', { Name: 'Null', Enabled: null }],
      [`PUT ${path}`, { Name: 'Null', Enabled: null }],
      [`PATCH ${path}`, { Enabled: null }],
    ])
    expect((await server.get(path)).body).toEqual(created)
    expect(await listed(server, '/Companies?Name=Null')).toEqual([])
  })

  test('D8: read-only properties of a body are ignored, whatever their values', async () => {
    const company = await createRow(server, '/Companies', { Id: 999_999, Name: 'Acme' })
    expect(company.id).not.toBe(999_999)
    const ignored = { DisplayName: 'Z', Company: 'Z', Manager: { a: 1 } }
    const employee = await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId: company.id, ...ignored })
    expect(employee).toMatchObject({ displayName: 'Ada', company: 'Acme', manager: null })
    const absence = await createRow(server, '/Absences', { EmployeeId: employee.id, Employee: 'Z' })
    expect(absence.employee).toBe('Ada')
  })
})
