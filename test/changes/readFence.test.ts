import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { FlagWriter, type InFlightWrite, tableBit } from '../../src/changes/inFlight.ts'
import { ChangeLogWriter } from '../../src/changes/log.ts'
import { ChangePublisher } from '../../src/changes/publisher.ts'
import type { Row } from '../../src/model/sql.ts'
import { type ListAnswer, type ListProcess, ListSite } from '../support/listSite.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { untilSettled } from '../support/settled.ts'

/** Of the second process, which stands still behind its commit. */
const WRITER = 1
/** Entities are numbered by the names of their files. */
const COMPANY = tableBit(1)
const REMEMBERED = '/Companies?Enabled=true'

let url: string
let sql: postgres.Sql
let site: ListSite
let one: ListProcess
let other: ListProcess
let oldId: number
beforeAll(async () => {
  url = await createDatabase()
  sql = connect(url)
})
beforeEach(async () => {
  await sql`truncate company cascade`
  const rows = await sql`
    insert into company (name, enabled) select 'c' || n, true from generate_series(1, 30) as n returning id`
  oldId = rows[0]?.id
  site = new ListSite(url)
  ;[one, other] = site.processes
  // So that it is known which transactions are older than those to come.
  await one.write('create', '/Companies', { Name: 'before' })
})
afterEach(() => site.end())
afterAll(() => sql.end())

const totalOf = ({ headers }: ListAnswer) => Number(headers['X-Total-Count'])

/** Commits a write as a process does that then stands still: it is in flight, and not published. */
async function committed(statement: postgres.PendingQuery<postgres.Row[]>) {
  const write = new FlagWriter(site.region, WRITER).begin(COMPANY)
  const [row] = await statement.values()
  return { write, row: row as unknown as Row }
}

function publish(write: InFlightWrite, transaction: number, before: Row | null, after: Row | null) {
  new ChangePublisher(new ChangeLogWriter(site.region, WRITER), site.region).publish('company', {
    transaction,
    before,
    after,
  })
  write.end()
}

const created = () =>
  committed(
    sql`insert into company (name, enabled) values ('new', true) returning id::text, name, case when enabled then 't' else 'f' end, pg_current_xact_id()::text`,
  )

/** A busy machine may take longer over the answers in between than a write in flight is waited for. */
const AGAIN = { retry: 5 }

/** While others that show nothing new are answered, by the same process. */
async function isHeldBack(answer: Promise<unknown>): Promise<boolean> {
  let isSent = false
  answer.then(() => (isSent = true))
  for (let turn = 0; turn < 5; turn++) await one.get(`/Companies/${oldId}`)
  return !isSent
}

describe('an answer of the database that shows a write which is not published yet', () => {
  test.each([
    ['a list that is counted', () => one.list('/Companies?Name=new')],
    ['a page of all there are', () => one.list('/Companies?Name=new&PageSize=50')],
    ['a list in an order that only PostgreSQL knows', () => one.list('/Companies?Name=>n&sort=Name')],
  ])(
    'is sent when it is published, if it is %s',
    async (_, list) => {
      const before = totalOf(await other.list(REMEMBERED))
      await one.list('/Companies?Name=other')
      const { write, row } = await created()
      const answer = list()
      expect(await isHeldBack(answer)).toBe(true)
      expect(totalOf(await other.list(REMEMBERED))).toBe(before)
      publish(write, Number(row[3]), null, row.slice(0, 3))
      expect(totalOf(await answer)).toBe(1)
      expect(totalOf(await other.list(REMEMBERED))).toBe(before + 1)
    },
    AGAIN,
  )

  test(
    'is sent when it is published, if it is one row',
    async () => {
      await other.list(REMEMBERED)
      const { write, row } = await created()
      const answer = one.get(`/Companies/${row[0]}`)
      expect(await isHeldBack(answer)).toBe(true)
      publish(write, Number(row[3]), null, row.slice(0, 3))
      expect((await answer).body.name).toBe('new')
    },
    AGAIN,
  )

  test(
    'is sent when it is published, if it says that there is no row',
    async () => {
      const before = totalOf(await other.list(REMEMBERED))
      const [{ id } = {}] = await sql`select max(id) as id from company where enabled`
      const { write, row } = await committed(
        sql`delete from company where id = ${id} returning id::text, name, case when enabled then 't' else 'f' end, pg_current_xact_id()::text`,
      )
      const answers = [one.get(`/Companies/${id}`), one.write('patch', `/Companies/${id}`, { Enabled: true })]
      for (const answer of answers) answer.catch(() => undefined)
      for (const answer of answers) expect(await isHeldBack(answer.catch(() => undefined))).toBe(true)
      publish(write, Number(row[3]), row.slice(0, 3), null)
      for (const answer of answers) await expect(answer).rejects.toMatchObject({ code: 'NotFound' })
      expect(totalOf(await other.list(REMEMBERED))).toBe(before - 1)
    },
    AGAIN,
  )

  test.each([
    ['what has changed since a token', (token: string) => one.changes(`after=${token}`)],
    ['a token of now', () => one.changes('after=now')],
    ['the history of the row', (_: string, id: unknown) => one.changes('', `/Companies/${id}`)],
  ])(
    'is sent when it is published, if it is %s',
    async (_, ask) => {
      const before = totalOf(await other.list(REMEMBERED))
      const token = (await one.changes('after=now')).body.next
      const { write, row } = await committed(sql`
        with made as (insert into company (name, enabled) values ('new', true) returning *),
          line as (insert into entity_change (position, entity, id, action, key, changed)
            select change_position(), 'company', id, 'i', 'a', '{}' from made)
        select id::text, name, case when enabled then 't' else 'f' end, pg_current_xact_id()::text from made`)
      await untilSettled(sql)
      const answer = ask(token, row[0])
      expect(await isHeldBack(answer)).toBe(true)
      publish(write, Number(row[3]), null, row.slice(0, 3))
      expect((await answer).body.changes.length).toBe(_ === 'a token of now' ? 0 : 1)
      expect(totalOf(await other.list(REMEMBERED))).toBe(before + 1)
    },
    AGAIN,
  )

  test(
    'is sent after a while where the writer stands still: then lists of its table come from the database',
    async () => {
      const before = totalOf(await other.list(REMEMBERED))
      const { write, row } = await created()
      expect(totalOf(await one.list('/Companies?Name=new'))).toBe(1)
      for (const process of [one, other]) {
        const texts = await process.readingOf(async () =>
          expect(totalOf(await process.list(REMEMBERED))).toBe(before + 1),
        )
        expect(texts.length).toBeGreaterThan(0)
      }
      publish(write, Number(row[3]), null, row.slice(0, 3))
      const texts = await other.readingOf(async () => expect(totalOf(await other.list(REMEMBERED))).toBe(before + 1))
      expect(texts.some((text) => /count\(\*\)/.test(text))).toBe(false)
    },
    AGAIN,
  )
})

test(
  'the answer of a write under an Idempotency-Key that another process has committed and not published is held back too',
  async () => {
    const create = (process: ListProcess) =>
      process.write('create', '/Companies', { Name: 'new', Enabled: true }, { 'Idempotency-Key': 'a' })
    // What is kept of such a write; then both are removed, before any list is in memory.
    const { body } = await create(site.plain)
    const [kept] = await sql`delete from idempotency_key returning id, request, answer`
    await sql`delete from company where id = ${body.id}`
    const before = totalOf(await other.list(REMEMBERED))
    const { write, row } = await committed(sql`
      with kept as (insert into idempotency_key (id, request, answer) values (${kept?.id}, ${kept?.request}, ${kept?.answer}))
      insert into company (id, name, enabled) overriding system value values (${body.id}, 'new', true)
        returning id::text, name, case when enabled then 't' else 'f' end, pg_current_xact_id()::text`)
    const answer = create(one)
    expect(await isHeldBack(answer)).toBe(true)
    expect(totalOf(await other.list(REMEMBERED))).toBe(before)
    publish(write, Number(row[3]), null, row.slice(0, 3))
    expect(await answer).toMatchObject({ status: 201, body, headers: { 'Idempotency-Replayed': 'true' } })
    expect(totalOf(await other.list(REMEMBERED))).toBe(before + 1)
  },
  AGAIN,
)

test('a row that has copied a name from a rename which is not published yet is held back, though another write left it', async () => {
  const write = new FlagWriter(site.region, WRITER).begin(COMPANY | tableBit(2))
  const [row] = await sql`update company set name = 'renamed' where id = ${Number(oldId) + 1}
    returning id::text, name, case when enabled then 't' else 'f' end as enabled, pg_current_xact_id()::text as xid`
  const { body } = await one.write('create', '/Employees', { FirstName: 'Ada', CompanyId: Number(oldId) + 1 })
  const answer = one.get(`/Employees/${body.id}`)
  expect(await isHeldBack(answer)).toBe(true)
  publish(write, Number(row?.xid), [row?.id, 'c2', row?.enabled], [row?.id, row?.name, row?.enabled])
  expect((await answer).body.company).toBe('renamed')
  await sql`truncate employee cascade`
})

describe('an answer of the database is not held back', () => {
  test('by a write that has not been committed', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const write = new FlagWriter(site.region, WRITER).begin(COMPANY)
    const transaction = sql.begin(async (inside) => {
      await inside`insert into company (name, enabled) values ('new', true)`
      begin()
      await promise
    })
    await begun
    expect(totalOf(await one.list('/Companies?Name=new'))).toBe(0)
    expect(totalOf(await one.list('/Companies?sort=Name&page=2'))).toBe(31)
    expect((await one.get(`/Companies/${oldId}`)).status).toBe(200)
    await expect(one.get('/Companies/999999')).rejects.toMatchObject({ code: 'NotFound' })
    // None of them has waited in vain, so the cache is on.
    await one.list(REMEMBERED)
    expect(await one.readingOf(() => one.list(REMEMBERED))).toEqual([])
    resolve()
    await transaction
    write.end()
  })

  test('by a write to another table', async () => {
    const write = new FlagWriter(site.region, WRITER).begin(tableBit(0))
    await sql`insert into company (name) values ('new')`
    expect(totalOf(await one.list('/Companies?Name=new'))).toBe(1)
    write.end()
  })
})

test('a write of a row that refers to itself is answered from itself: with its copies, and without a second read', async () => {
  const { body } = await one.write('create', '/Employees', { FirstName: 'Ada' })
  const path = `/Employees/${body.id}`
  let answers: ListAnswer[] = []
  const texts = await one.readingOf(async () => {
    answers = [
      await one.write('patch', path, { ManagerId: body.id }),
      await one.write('patch', path, { LastName: 'Byron' }),
      await one.write('patch', path, { KnownAs: 'Augusta', ManagerId: body.id }),
      await one.write('patch', path, { ManagerId: null }),
    ]
  })
  expect(answers.map((answer) => answer.body.manager)).toEqual(['Ada', 'Ada Byron', 'Augusta Byron', null])
  expect(texts).toEqual([])
  const [row] = await sql`update employee set manager_id = id, manager_key = display_name_key returning manager`
  expect(row?.manager).toBe('Augusta Byron')
  await sql`truncate employee cascade`
})
