import { beforeAll, expect, test } from 'bun:test'
import { useServer } from '../support/start.ts'

const server = useServer({ environment: { MEMORY_MB: '0' } })

const COMPANIES = 6
beforeAll(async () => {
  await server.sql`insert into company (name) select 'Company ' || n from generate_series(1, ${COMPANIES}::int) as n`
  // The first company has 7 employees, the second 14, and so on.
  await server.sql`
    insert into employee (first_name, company_id, company_key)
    select 'e', c.id, c.name_key from company c, generate_series(1, c.id::int * 7)`
})

test('concurrent lists of the employees of several companies each have the total and rows of their own company', async () => {
  const ids = Array.from({ length: 120 }, (_, index) => 1 + (index % COMPANIES))
  const answers = await Promise.all(ids.map((id) => server.get(`/Employees?CompanyId=${id}&PageSize=5`)))
  const found = answers.map(({ status, headers, body }) => {
    return [status, headers.get('X-Total-Count'), body.length, new Set(body.map((row: { companyId: number }) => row.companyId))]
  })
  expect(found).toEqual(ids.map((id) => [200, String(7 * id), 5, new Set([id])]))
})
