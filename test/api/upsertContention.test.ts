import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { outcomeOf, untilServed } from '../support/cases.ts'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import type { Json, TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const first = useServer({ hasForeignRows: true })
const second = useServer(() => ({ databaseUrl: first.databaseUrl, hasForeignRows: true }))
/** Its companies have unique names. */
const unique = useServer({ entitiesDir: declaredCompanies().path, hasForeignRows: true })

beforeAll(async () => {
  await unique.sql`alter table company add constraint company_name_unique unique (name)`
})
beforeEach(async () => {
  await first.sql`truncate company, employee, absence, idempotency_key restart identity cascade`
  await unique.sql`truncate company restart identity cascade`
})

const ROUNDS = 5
const NUMBERS = Array.from({ length: 20 }, (_, index) => `E${index}`)

const upsert = (server: TestServer, rows: unknown, target = '/Employees?match=EmployeeNumber') =>
  untilServed(() => server.send('POST', target, rows))
const numbersIn = async ({ sql }: TestServer) =>
  (await sql`select employee_number as number from employee order by id`).map(({ number }) => number as string)

describe('D115: requests that create and change the same rows', () => {
  test('at the same time, in any order and on two servers, create each row once, with the values of one request', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const numbers = NUMBERS.map((number) => `${number}-${round}`)
      const bodies = Array.from({ length: 8 }, (_, writer) =>
        numbers.map((EmployeeNumber) => ({ EmployeeNumber, FirstName: `W${writer}`, LastName: `W${writer}` })),
      )
      const sent = bodies.map((rows, at) => upsert(at % 2 === 0 ? first : second, at % 3 === 0 ? rows.toReversed() : rows))
      const answers = await Promise.all(sent)
      expect(answers.map(outcomeOf)).toEqual(Array(8).fill('200'))
      const results = answers.flatMap(({ body }) => body.map(({ result }: Json) => result))
      expect(results.filter((result) => result === 'created')).toHaveLength(numbers.length)
      const rows = await first.sql`select first_name, last_name from employee where employee_number like ${`%-${round}`}`
      expect(rows).toHaveLength(numbers.length)
      expect(new Set(rows.map(({ first_name, last_name }) => `${first_name} ${last_name}`)).size).toBe(1)
    }
  })

  test('each with only some of the rows, create each row once', async () => {
    const sent = Array.from({ length: 16 }, (_, writer) => {
      const rows = NUMBERS.filter((_, at) => (at * 7 + writer) % 3 > 0).map((EmployeeNumber) => ({
        EmployeeNumber,
        Title: `T${writer}`,
      }))
      return upsert(writer % 2 === 0 ? first : second, rows)
    })
    expect((await Promise.all(sent)).map(outcomeOf)).toEqual(Array(16).fill('200'))
    expect((await numbersIn(first)).toSorted()).toEqual(NUMBERS.toSorted())
  })

  test('lose no row and create none twice while rows are deleted, renumbered and updated', async () => {
    const { body } = await upsert(
      first,
      NUMBERS.map((EmployeeNumber) => ({ EmployeeNumber })),
    )
    const ids: number[] = body.map(({ row }: Json) => row.id)
    const rows = NUMBERS.map((EmployeeNumber) => ({ EmployeeNumber, JobTitle: 'Sent' }))
    const others = ids.flatMap((id, at) => [
      second.send('PATCH', `/Employees/${id}`, { LastName: `L${at}` }),
      ...(at % 4 === 0 ? [second.send('DELETE', `/Employees/${id}`)] : []),
      ...(at % 4 === 1 ? [second.send('PATCH', `/Employees/${id}`, { EmployeeNumber: `Other ${at}` })] : []),
    ])
    const upserts = [upsert(first, rows), upsert(second, rows.toReversed())]
    await Promise.all(others)
    for (const answer of await Promise.all(upserts)) expect(['200', '409 Conflict Api']).toContain(outcomeOf(answer))
    expect(outcomeOf(await upsert(first, rows))).toBe('200')
    const stored = (await numbersIn(first)).filter((number) => number.startsWith('E'))
    expect(stored.toSorted()).toEqual(NUMBERS.toSorted())
  })

  test('create one row while other requests create the same unique value, and each is 200, 201 or 409', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const Name = `Name ${round}`
      const upserts = Array.from({ length: 4 }, () => upsert(unique, [{ Name, Enabled: true }], '/Companies?match=Name'))
      const creates = Array.from({ length: 4 }, () => untilServed(() => unique.send('POST', '/Companies', { Name })))
      expect((await Promise.all(upserts)).map(outcomeOf)).toEqual(Array(4).fill('200'))
      const outcomes = (await Promise.all(creates)).map(outcomeOf)
      expect(outcomes.filter((outcome) => !['201', '409 AlreadyExists Name'].includes(outcome))).toEqual([])
      const rows = await unique.sql`select enabled from company where name = ${Name}`
      expect([...rows]).toEqual([{ enabled: true }])
    }
  })
})

describe('D65: rows of an upsert', () => {
  const match = '/Companies?match=Name'

  test('are created, updated or left unchanged', async () => {
    const { body } = await upsert(unique, [{ Name: 'A' }, { Name: 'B', Enabled: true }], match)
    expect(body.map(({ result }: Json) => result)).toEqual(['created', 'created'])
    const again = await upsert(unique, [{ Name: 'C' }, { Name: 'A', Enabled: true }, { Name: 'B', Enabled: true }], match)
    expect(again.body.map(({ result }: Json) => result)).toEqual(['created', 'updated', 'unchanged'])
  })

  test('get 409 if the upsert finds them by their ids and gives them a unique value of another row', async () => {
    await upsert(unique, [{ Name: 'A' }, { Name: 'B' }], match)
    const answer = await upsert(
      unique,
      [
        { Id: 1, Name: 'B' },
        { Id: 2, Name: 'B' },
      ],
      '/Companies?match=Id',
    )
    expect(outcomeOf(answer)).toBe('409 AlreadyExists [0].Name')
  })
})
