import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const ROUNDS = 60

describe('writes at the same time', () => {
  test('employees replaced while their company is renamed do not wait for it in a circle', async () => {
    const { body: company } = await server.post('/Companies', { Name: 'before' })
    const employees = await Promise.all(Array.from({ length: 20 }, () => server.post('/Employees', { CompanyId: company.id })))
    let isRenaming = true
    const replaced = employees.map(async ({ body: { id } }) => {
      while (isRenaming)
        expect((await server.put(`/Employees/${id}`, { FirstName: 'Ada', CompanyId: company.id })).status).toBe(200)
    })
    for (let round = 0; round < ROUNDS / 3; round++)
      expect((await server.patch(`/Companies/${company.id}`, { Name: `Name ${round}` })).status).toBe(200)
    isRenaming = false
    await Promise.all(replaced)
    const deadlocks = async () => {
      const [row] = await server.sql`select deadlocks::int from pg_stat_database where datname = current_database()`
      return row?.deadlocks
    }
    // Sessions tell of theirs within a second.
    await Bun.sleep(1_100)
    expect(await deadlocks()).toBe(0)
    await server.sql`truncate company, employee, absence`
  }, 60_000)

  test('a row is either referred to or deleted, never both', async () => {
    for (let round = 0; round < ROUNDS / 3; round++) {
      const { body: employee } = await server.post('/Employees', { FirstName: 'Brief' })
      const [created, removed] = await Promise.all([
        server.post('/Absences', { EmployeeId: employee.id }),
        server.remove(`/Employees/${employee.id}`),
      ])
      expect([
        [201, 409],
        [409, 204],
      ]).toContainEqual([created.status, removed.status])
    }
  }, 30_000)
})

describe('the page and its total', () => {
  test('come from one moment: a page that is not full has as many rows as the total says', async () => {
    await server.sql`delete from company`
    let writing = true
    const writes = (async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const { body } = await server.post('/Companies', { Name: `n${round}` })
        if (round % 3 !== 0) await server.remove(`/Companies/${body.id}`)
      }
      writing = false
    })()
    while (writing) {
      const { headers, body } = await server.get('/Companies?PageSize=50')
      expect(Number(headers.get('x-total-count'))).toBe(body.length)
    }
    await writes
  }, 30_000)
})
