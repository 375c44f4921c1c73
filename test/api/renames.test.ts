import { describe, expect, test } from 'bun:test'
import { COPIES_MAX } from '../../src/compile/update.ts'
import { outcomeOf } from '../support/cases.ts'
import { until } from '../support/process.ts'
import type { Answer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const server = useServer()

/** A company, and how many employees it has. */
async function companyOf(employees: number): Promise<number> {
  const [row] = await server.sql`insert into company (name) values ('before') returning id`
  await server.sql`
    insert into employee (first_name, company_id, company_key)
    select 'E' || n, c.id, c.name_key from company c, generate_series(1, ${employees}) as n where c.id = ${row?.id}`
  return Number(row?.id)
}

async function namesOf(company: number) {
  return (await server.sql`select company, count(*)::int as n from employee where company_id = ${company} group by 1`).map(
    ({ company, n }) => [company, n],
  )
}

describe('a rename changes all copies, however many', () => {
  test('under an Idempotency-Key: a repetition is 409 InProgress meanwhile, and later gets the same answer', async () => {
    const company = await companyOf(COPIES_MAX + 1)
    const headers = { 'Idempotency-Key': 'rename-of-many' }
    const rename = (name = 'after') => server.send('PATCH', `/Companies/${company}`, { Name: name }, headers)
    const versions = () => server.sql`select xmin from employee where company_id = ${company} order by id`
    let first: Promise<Answer> | undefined
    await server.sql.begin(async (transaction) => {
      await transaction`select from employee where company_id = ${company} for update`
      first = rename()
      await until(async () => (await server.sql`select from pg_locks where not granted`).count > 0)
      const meanwhile = await rename()
      expect(outcomeOf(meanwhile)).toBe('409 InProgress Idempotency-Key')
    })
    const answer = (await first) as Answer
    expect([answer.status, answer.body]).toEqual([200, { id: company, name: 'after', enabled: false }])
    const written = await versions()
    const again = await rename()
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, answer.text, 'true'])
    expect((await rename('other')).body.Error.Code).toBe('IdempotencyMismatch')
    expect(await versions()).toEqual(written)
    expect(await namesOf(company)).toEqual([['after', COPIES_MAX + 1]])
  })

  test('also if it takes longer than the deadline of other statements, and other requests are answered meanwhile', async () => {
    const company = await companyOf(COPIES_MAX + 200)
    // As on a larger table or a slower disk.
    await server.sql`
      create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.003); return new; end $$`
    await server.sql`create trigger slow before update on employee for each row execute function slow()`
    try {
      let isRenamed = false
      const rename = server.patch(`/Companies/${company}`, { Name: 'late' }).then((answer) => {
        isRenamed = true
        return answer
      })
      const other = await companyOf(1)
      let answered = 0
      while (!isRenamed) {
        expect((await server.patch(`/Companies/${other}`, { Name: `other ${answered}` })).status).toBe(200)
        expect((await server.get(`/Companies/${company}`)).body.name).toMatch(/before|late/)
        expect((await server.get(`/Employees?CompanyId=${company}&PageSize=5`)).headers.get('x-total-count')).toBe(
          String(COPIES_MAX + 200),
        )
        // If the rename held up others, they would be answered after it.
        if (!isRenamed) answered++
      }
      expect(answered).toBeGreaterThan(0)
      expect((await rename).status).toBe(200)
      expect(await namesOf(company)).toEqual([['late', COPIES_MAX + 200]])
    } finally {
      await server.sql`drop trigger slow on employee`
    }
  })

  test('an employee with many absences can be renamed, and updated in properties that are not copied', async () => {
    const { body } = await server.post('/Employees', { FirstName: 'Ada' })
    await server.sql`
      insert into absence (employee_id, employee_key)
      select e.id, e.display_name_key from employee e, generate_series(1, ${COPIES_MAX + 1}) where e.id = ${body.id}`
    expect((await server.patch(`/Employees/${body.id}`, { WorkPhone: '1' })).body).toMatchObject({ workPhone: '1' })
    expect((await server.put(`/Employees/${body.id}`, { FirstName: 'Augusta' })).body.displayName).toBe('Augusta')
    const names = await server.sql`select distinct employee from absence where employee_id = ${body.id}`
    expect(names.map(({ employee }) => employee)).toEqual(['Augusta'])
  })
})

test('a rename of a missing row is 404, and a rename that also refers to a missing row is 409', async () => {
  const rename = await server.patch('/Companies/999999', { Name: 'x' })
  expect(outcomeOf(rename)).toBe('404 NotFound Api')
  const { body } = await server.post('/Employees', { FirstName: 'Ada' })
  const moved = await server.patch(`/Employees/${body.id}`, { FirstName: 'Eve', CompanyId: 999999 })
  expect(outcomeOf(moved)).toBe('409 ReferenceNotFound CompanyId')
})
