import { beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Draft, draft } from '../support/arbitraries.ts'
import { outcomeOf } from '../support/cases.ts'
import { type Collection, collections, type Row } from '../support/model.ts'
import { bodyOf, type Known, recordOf, reset, resolved, rowOf } from '../support/records.ts'
import { createRow } from '../support/rows.ts'
import type { Answer, Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

/** Rounds of requests that are sent at once, of which the requests of one must meet. */
const ROUNDS_MAX = 20
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

for (const prepare of ['true', 'false'])
  describe(`concurrent requests, DATABASE_PREPARE=${prepare}`, () => {
    const server = useServer({ environment: { DATABASE_PREPARE: prepare } })
    let known: Known
    beforeEach(async () => {
      known = await reset(server)
    })

    const seen = ({ status, text }: Answer) => ({ status, record: recordOf(text) })
    const answered = (answers: Answer[], status: number, records: Row[]) =>
      expect(answers.map(seen)).toEqual(records.map((record) => ({ status, record })))
    const getAll = (path: string, ids: readonly number[]) => Promise.all(ids.map((id) => server.get(`${path}/${id}`)))

    /** Creates all at once; each client gets its own row, and so does each later request for it. */
    async function createAll(collection: Collection, drafts: Draft[]): Promise<Row[]> {
      const written = drafts.map((one) => resolved(collection, one, known))
      const answers = await Promise.all(written.map((one) => server.post(`/${collection}`, bodyOf(one))))
      const ids = answers.map(({ body }) => body.id as number)
      const rows = written.map((one, index) => ({ Id: ids[index] as number, ...rowOf(collection, one, known) }))
      answered(answers, 201, rows)
      answered(await getAll(`/${collection}`, ids), 200, rows)
      expect(new Set(ids).size).toBe(ids.length)
      return rows
    }

    test.each(collections)(
      'that create %s with random values: every client gets its own row as it wrote it',
      async (collection) => {
        const drafts = fc.array(draft(collection, 'any'), { minLength: 2, maxLength: 20 })
        await fc.assert(
          fc.asyncProperty(drafts, async (some) => void (await createAll(collection, some))),
          { numRuns: 6 },
        )
      },
    )

    test('that create rows share statements', async () => {
      await createAll(
        'Companies',
        times(100, (index) => ({ Name: `shared ${index}` })),
      )
      const [row] = await server.sql`
        select count(distinct xmin::text)::int as statements, count(*)::int as rows from company where name like 'shared %'`
      expect(row?.rows).toBe(100)
      expect(row?.statements).toBeLessThan(50)
    })

    test('that update rows with random values by PATCH and PUT: every client gets its own row as it wrote it', async () => {
      const pair = fc.record({ base: draft('Absences', 'any'), change: draft('Absences', 'any') })
      const property = fc.asyncProperty(
        fc.array(pair, { minLength: 2, maxLength: 15 }),
        fc.constantFrom('PUT', 'PATCH'),
        async (pairs, method) => {
          const bases = pairs.map(({ base }) => base)
          const rows = await createAll('Absences', bases)
          const written = pairs.map(({ change }) => resolved('Absences', { Start: null, End: null, ...given(change) }, known))
          const answers = await Promise.all(
            written.map((one, index) => server.send(method, `/Absences/${rows[index]?.Id}`, bodyOf(one))),
          )
          const updated = written.map((one, index) => {
            const whole: Row = rowOf('Absences', one, known)
            const names = [...Object.keys(one), ...('EmployeeId' in one ? ['Employee'] : [])]
            const changed = Object.fromEntries(names.map((name) => [name, whole[name] ?? null]))
            return { ...(rows[index] as Row), ...(method === 'PUT' ? whole : changed) }
          })
          answered(answers, 200, updated)
          const ids = updated.map(({ Id }) => Number(Id))
          answered(await getAll('/Absences', ids), 200, updated)
        },
      )
      await fc.assert(property, { numRuns: 6 })
    })

    test.each([
      ['Absences', { Status: null, EmployeeId: 1 }, {}],
      ['Absences', { Status: '2', EmployeeId: 1 }, {}],
      ['Absences', { Status: 'text', EmployeeId: 1 }, {}],
      ['Absences', { Type: null, EmployeeId: 1 }, { 'If-Match': '*' }],
      ['Absences', { Status: '2', EmployeeId: 1 }, { 'Idempotency-Key': '' }],
      ['Employees', { EmployeeNumber: '3', CompanyId: 1 }, {}],
    ] as const)(
      'that update %s by %j (headers %j) are each done, and share statements except under an Idempotency-Key',
      async (collection, change, headers) => {
        if ('Idempotency-Key' in headers) return expect(await statementsOf(collection, change, headers)).toBe(8)
        // On a busy machine all requests of a round may arrive one by one.
        let statements = 8
        for (let round = 0; statements === 8 && round < ROUNDS_MAX; round++)
          statements = await statementsOf(collection, change, headers)
        expect(statements).toBeLessThan(8)
      },
    )

    /** Updates eight new rows at once, and returns the number of statements that wrote them. */
    async function statementsOf(collection: string, change: object, headers: Record<string, string>): Promise<number> {
      const rows = await Promise.all(times(8, () => createRow(server, `/${collection}`, {})))
      const answers = await Promise.all(
        rows.map(({ id }) => {
          const own = 'Idempotency-Key' in headers ? { 'Idempotency-Key': `batch-${prepare}-${id}` } : headers
          return server.send('PATCH', `/${collection}/${id}`, change, own)
        }),
      )
      for (const { text, status } of answers) expect([status, recordOf(text)]).toEqual([200, expect.objectContaining(change)])
      const table = collection === 'Absences' ? 'absence' : 'employee'
      const [row] = await server.sql.unsafe(
        `select count(distinct xmin::text)::int as statements from ${table} where id = any ($1)`,
        [rows.map(({ id }) => id as number)],
      )
      return row?.statements
    }

    test('of which one is refused: only this one gets an error (409 or 400), and the others are written once', async () => {
      const [start, end] = ['2024-01-02T00:00:00Z', '2024-01-01T00:00:00Z']
      const { id } = await createRow(server, '/Absences', { Start: start })
      const bodies = times(40, (index) => ({ Reason: `r${index}`, EmployeeId: index === 7 ? 999_999 : null }))
      const creates = bodies.map((body) => server.post('/Absences', body))
      const ids = await Promise.all(times(20, async () => (await createRow(server, '/Absences', { Start: end })).id))
      const patches = [id, ...ids].map((target) => server.patch(`/Absences/${target}`, { End: end }))
      const [created, patched] = await Promise.all([Promise.all(creates), Promise.all(patches)])
      expect(outcomeOf(created[7] as Answer)).toBe('409 ReferenceNotFound EmployeeId')
      expect(outcomeOf(patched[0] as Answer)).toBe('400 InvalidValue End')
      expect(created.filter(({ status }) => status === 201)).toHaveLength(39)
      expect(patched.slice(1).map(({ status, body }) => [status, body.id, body.end])).toEqual(
        ids.map((target) => [200, target, end]),
      )
      const rows = await server.sql`select reason from absence where reason like 'r%'`
      const expected = bodies.flatMap(({ Reason }, index) => (index === 7 ? [] : [Reason]))
      expect(rows.map(({ reason }) => reason as string).sort()).toEqual(expected.sort())
    })

    test('that update one row are each applied, and each client sees its own update', async () => {
      const { id } = await createRow(server, '/Absences', { Status: 'before' })
      const changes: Json[] = [{ Type: 't' }, { Reason: 'r' }, { End: '2024-02-01T00:00:00Z' }, { EmployeeId: 1 }]
      changes.push(...['Prefered', 'Days', 'Hours'].map((part, index) => ({ Period: { [part]: index || 'p' } })))
      const statuses = times(43, (index) => `s${index}`)
      changes.push(...statuses.map((status) => ({ Status: status })))
      const answers = await Promise.all(changes.map((change) => server.patch(`/Absences/${id}`, change)))
      expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200))
      expect(answers.slice(-43).map(({ body }) => body.status)).toEqual(statuses)
      const { body } = await server.get(`/Absences/${id}`)
      expect(body).toMatchObject({ type: 't', reason: 'r', start: null, end: '2024-02-01T00:00:00Z', employeeId: 1 })
      expect(body.period).toEqual({ prefered: 'p', days: 1, hours: 2 })
      expect(statuses).toContain(body.status)
    })

    test('that read existing and missing rows, and one row many times, each get their own answer', async () => {
      const { id } = await createRow(server, '/Companies', { Name: 'there' })
      const ids = times(100, (index) => (index % 3 === 0 ? 999_000 + index : index % 3 === 1 ? id : 1 + (index % 4)))
      const together = await getAll('/Companies', ids)
      for (const [index, target] of ids.entries()) {
        const { status, text } = await server.get(`/Companies/${target}`)
        expect([target, together[index]?.status, together[index]?.text]).toEqual([target, status, text])
      }
    })
  })

/** What a draft says, without what it leaves out. */
function given(change: Draft): Draft {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}
