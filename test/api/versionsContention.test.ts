import { describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { COPIES_MAX } from '../../src/compile/update.ts'
import { besideTransaction } from '../support/besideTransaction.ts'
import { createRow, createRows } from '../support/rows.ts'
import type { Answer, Json } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// A write that has waited for the lock of its row compares the version once more, since the row may have been changed.

const server = useServer()

const tagOf = ({ headers }: Answer) => headers.get('etag') as string
const tagAt = async (path: string) => tagOf(await server.get(path))
/** `isKeyed`: with an Idempotency-Key, which makes another statement of it. */
const matching = (method: string, path: string, tag: string, body?: unknown, isKeyed = false) =>
  server.send(method, path, body, {
    'if-match': tag,
    ...(isKeyed ? { 'idempotency-key': crypto.randomUUID() } : {}),
  })

const beside = <T>(
  { commits }: { commits: boolean },
  work: (sql: postgres.TransactionSql) => Promise<unknown>,
  ask: () => Promise<T>,
) => besideTransaction({ holder: server.sql, watcher: server.sql, commits }, work, ask)

describe.each([
  [true, false],
  [false, false],
  [true, true],
  [false, true],
])('If-Match while another transaction changes the row (it commits: %p; Idempotency-Key: %p):', (commits, isKeyed) => {
  const outcome = (good: number) => (commits ? 412 : good)

  test.each([
    ['PATCH', { Reason: 'mine' }, 200],
    ['PUT', { Reason: 'mine' }, 200],
    ['DELETE', undefined, 204],
  ] as const)('a %s waits for that transaction, and is 412 if it commits', async (method, body, good) => {
    const { id } = await createRow(server, '/Absences', { Reason: 'before' })
    const path = `/Absences/${id}`
    const tag = await tagAt(path)
    const answer = await beside(
      { commits },
      (transaction) => transaction`update absence set reason = 'theirs' where id = ${id}`,
      () => matching(method, path, tag, body, isKeyed),
    )
    expect(answer.status).toBe(outcome(good))
    const rows = await server.sql`select reason from absence where id = ${id}`
    expect(rows.map(({ reason }) => reason)).toEqual(commits ? ['theirs'] : method === 'DELETE' ? [] : ['mine'])
    if (commits) expect(tagOf(answer)).toBe(await tagAt(path))
  })

  test('concurrent PATCHes are each 200 or 412 by their own versions', async () => {
    const rows = await createRows(server, '/Absences', Array(16).fill({ Reason: 'before' }))
    const tags = await Promise.all(rows.map(({ id }) => tagAt(`/Absences/${id}`)))
    // Every third row is changed before, so that its PATCH names an earlier version already when it is sent.
    const isLate = (index: number) => index % 3 === 2
    for (const [index, { id }] of rows.entries()) if (isLate(index)) await server.patch(`/Absences/${id}`, { Reason: 'early' })
    const held = rows[0] as Json
    const answers = await beside(
      { commits },
      (transaction) => transaction`update absence set reason = 'theirs' where id = ${held.id}`,
      () =>
        Promise.all(
          rows.map(({ id }, index) => matching('PATCH', `/Absences/${id}`, tags[index] as string, { Reason: 'mine' }, isKeyed)),
        ),
    )
    const expected = rows.map((_, index) => (index === 0 ? outcome(200) : isLate(index) ? 412 : 200))
    expect(answers.map(({ status }) => status)).toEqual(expected)
    const now = await server.sql`
      select reason from absence where id = any (${rows.map(({ id }) => id)}::bigint[]) order by id`
    expect(now.map(({ reason }) => reason)).toEqual(
      expected.map((status, index) => (status === 200 ? 'mine' : index === 0 ? 'theirs' : 'early')),
    )
  })

  test.each([1, COPIES_MAX + 1])(
    'a rename with %d copies waits for that transaction, and is 412 if it commits',
    async (copies) => {
      const { id } = await createRow(server, '/Companies', { Name: 'before' })
      await server.sql`
      insert into employee (first_name, company_id, company_key)
      select 'E' || n, c.id, c.name_key from company c, generate_series(1, ${copies}) as n where c.id = ${id}`
      const path = `/Companies/${id}`
      const tag = await tagAt(path)
      const answer = await beside(
        { commits },
        (transaction) => transaction`update company set enabled = true where id = ${id}`,
        () => matching('PATCH', path, tag, { Name: 'mine' }, isKeyed),
      )
      expect(answer.status).toBe(outcome(200))
      const names = await server.sql`select distinct company from employee where company_id = ${id}`
      expect(names.map(({ company }) => company)).toEqual([commits ? 'before' : 'mine'])
    },
  )

  test('a PATCH of an employee waits for a rename of the company whose name she copies, and is 412 if that commits', async () => {
    const { id: company } = await createRow(server, '/Companies', { Name: 'before' })
    const { id } = await createRow(server, '/Employees', { FirstName: 'Ada', CompanyId: company })
    const path = `/Employees/${id}`
    const tag = await tagAt(path)
    const answer = await beside(
      { commits },
      (transaction) => transaction`update company set name = 'renamed' where id = ${company}`,
      () => matching('PATCH', path, tag, { CompanyId: company, WorkPhone: '1' }, isKeyed),
    )
    expect(answer.status).toBe(outcome(200))
    const { body } = await server.get(path)
    expect([body.company, body.workPhone]).toEqual(commits ? ['renamed', null] : ['before', '1'])
  })
})

test('a PATCH that waits for a delete is 404', async () => {
  const { id } = await createRow(server, '/Absences', {})
  const path = `/Absences/${id}`
  const tag = await tagAt(path)
  const answer = await beside(
    { commits: true },
    (transaction) => transaction`delete from absence where id = ${id}`,
    () => matching('PATCH', path, tag, { Reason: 'mine' }),
  )
  expect(answer.status).toBe(404)
})

test('a write that is 412 locks no row and uses no transaction id', async () => {
  const { id } = await createRow(server, '/Absences', {})
  const path = `/Absences/${id}`
  const tag = await tagAt(path)
  await server.patch(path, { Reason: 'changed' })
  const locked = () =>
    server.sql`select xmax::text, pg_snapshot_xmax(pg_current_snapshot())::text as next from absence where id = ${id}`
  const before = [...(await locked())]
  const body = { Reason: 'mine' }
  const writes = [['PATCH', body] as const, ['PATCH', body] as const, ['PUT', body] as const, ['DELETE', undefined] as const]
  const answers = await Promise.all(writes.map(([method, sent]) => matching(method, path, tag, sent)))
  expect(answers.map(({ status }) => status)).toEqual([412, 412, 412, 412])
  expect([...(await locked())]).toEqual(before)
})
