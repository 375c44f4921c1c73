import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { oldRowChanges } from '../../src/postgres/oldRows.ts'
import { textsOfOneFnv } from '../support/collidingTexts.ts'
import { isInMemory, untilInMemory } from '../support/inMemory.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { Random } from '../support/random.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/start.ts'

const PATH = '/Companies?sort=-Name&PageSize=50'

let server: TestServer
let said: string[]
async function start(environment: Record<string, string> = {}) {
  said = []
  const log = quietLog({ info: (text: string) => void said.push(text) })
  server = await startServer({ environment, log })
  await server.sql`insert into company (name) select 'c' || n from generate_series(1, 30) as n`
}
beforeEach(() => start())
afterEach(() => server.stop())

const total = async () => Number((await server.get(PATH)).headers.get('x-total-count'))

const untilLoaded = () => untilInMemory(server, 'company', PATH)

describe('a copy of a table', () => {
  test('is loaded because of the first list of the table, which PostgreSQL answers meanwhile; the load is logged', async () => {
    expect(said).toEqual([])
    expect(await total()).toBe(30)
    await untilLoaded()
    expect(said).toEqual(['a table is in memory'])
  })

  test('is loaded although the hashes of some texts collide', async () => {
    const rows = textsOfOneFnv(new Random(1)).map((name) => ({ name }))
    await server.sql`insert into company ${server.sql(rows)}`
    await untilLoaded()
    expect(said).toEqual(['a table is in memory'])
  })

  test('is kept while PostgreSQL answers summaries because too many new texts are not sorted yet', async () => {
    await untilLoaded()
    // More new texts than are sorted while a summary waits.
    await server.sql`insert into company (name) select 'n' || n from generate_series(1, 150) as n`
    for (const page of [1, 2, 3]) expect((await server.get(`/Companies/Summary?groupBy=Name&page=${page}`)).status).toBe(200)
    await Bun.sleep(300)
    expect(said).toEqual(['a table is in memory'])
  })

  test.each([
    ['a rewrite', 'vacuum full company'],
    [
      'a trigger that is disabled and enabled',
      'alter table company disable trigger company_updates; alter table company enable always trigger company_updates',
    ],
    ['a new column', 'alter table company add column extra integer'],
    ['a write of more rows than a copy can apply', "insert into company (name) select 'many' from generate_series(1, 50001)"],
    ['a change of the run in row_change_run', "update row_change_run set run = 'another'"],
  ])('is loaded again after %s', async (_, text) => {
    await untilLoaded()
    await server.sql.unsafe(text)
    // Workers read the definition of the table twice a second.
    await Bun.sleep(600)
    const expected = Number((await server.sql`select count(*)::int as n from company`)[0]?.n)
    await until(async () => (await total()) === expected && said.length === 2)
    await untilLoaded()
  })

  test.each([
    ['a write of more rows than one row of row_change has ids', 1_200],
    ['a write of more rows than a list waits for', 6_000],
  ])('is not loaded again after %s', async (_, rows) => {
    await untilLoaded()
    await server.sql`insert into company (name) select 'many' from generate_series(1, ${rows}::int)`
    for (let listed = 1; listed <= 3; listed++) expect(await total()).toBe(30 + rows)
    await untilLoaded()
    await server.sql`update company set name = 'renamed' where name = 'many'`
    expect((await server.get('/Companies?Name=renamed')).headers.get('x-total-count')).toBe(String(rows))
    expect((await server.get('/Companies?Name=many')).headers.get('x-total-count')).toBe('0')
    await untilLoaded()
    expect(said).toEqual(['a table is in memory'])
  })

  test('is loaded again, and answers lists meanwhile, when its table has outgrown the memory reserved for it', async () => {
    await untilLoaded()
    for (let left = 4; left > 0; left--) {
      await server.sql`insert into company (name) select 'many' from generate_series(1, 24000)`
      // Waits until the copy has these rows before more are inserted.
      await until(async () => (await total()) === 30 + (5 - left) * 24_000 && isInMemory(server, 'company', PATH))
    }
    await until(async () => (await total()) === 96_030 && said.length === 2)
    expect(said).toEqual(['a table is in memory', 'a table is in memory'])
    await untilLoaded()
  })

  test('is loaded again soon after one statement has inserted more rows than it has room for', async () => {
    await untilLoaded()
    for (let count = 1; count <= 3; count++) {
      await server.sql`insert into company (name) select 'many' from generate_series(1, 40000)`
      await until(async () => (await total()) === 30 + count * 40_000 && isInMemory(server, 'company', PATH))
    }
    expect(said).toEqual(['a table is in memory', 'a table is in memory'])
  })

  test('has a row under the id that a trigger of the table has set, not under the id in the statement', async () => {
    await server.sql.unsafe(`create function give_id() returns trigger language plpgsql as 'begin new.id := new.id + 1000; return new; end';
      create trigger own before update on company for each row execute function give_id()`)
    await untilLoaded()
    await server.sql`update company set name = 'moved' where id = 7`
    const answer = await server.get('/Companies?Id[]=7&Id[]=1007')
    expect(answer.body.map(({ id, name }: { id: number; name: string }) => [id, name])).toEqual([[1_007, 'moved']])
    expect([await total(), said]).toEqual([30, ['a table is in memory']])
  })

  test('is loaded again if rows of row_change were deleted before it read them, and is kept otherwise', async () => {
    await untilLoaded()
    const [first, second] = [oldRowChanges(0), oldRowChanges(0)]
    await first(server.sql as never, 1_000)
    await server.sql`update company set name = 'changed' where id = 1`
    await server.sql`update company set name = 'changed' where id = 2`
    expect(await total()).toBe(30)
    await second(server.sql as never, 1_000)
    await second(server.sql as never, 1_000)
    expect(await server.sql`select from row_change`).toHaveLength(1)
    expect(await total()).toBe(30)
    expect(said).toHaveLength(1)
    await server.sql`update company set name = 'unseen' where id = 3`
    await server.sql`update company set name = 'unseen' where id = 4`
    await second(server.sql as never, 1_000)
    await second(server.sql as never, 1_000)
    expect((await server.get('/Companies?Name=unseen')).headers.get('x-total-count')).toBe('2')
    await until(async () => (await total()) === 30 && said.length === 2)
  })
})

describe('PostgreSQL answers lists correctly, and no copy is loaded,', () => {
  test.each([
    ['without one of its triggers', 'drop trigger company_deletes on company'],
    ['with a disabled trigger', 'alter table company disable trigger company_updates'],
    ['with a trigger that fires for ordinary sessions only', 'alter table company enable trigger company_inserts'],
    ['with a child table', 'create table child () inherits (company)'],
  ])('for a table %s', async (_, text) => {
    await server.sql.unsafe(text)
    await until(async () => (await total()) === 30 && said.length === 1)
    expect(said).toEqual(['memory off for a table: its triggers of changes are missing or disabled'])
    await server.sql`update company set name = 'changed' where id = 1`
    expect((await server.get('/Companies?Name=changed')).headers.get('x-total-count')).toBe('1')
    expect(await isInMemory(server, 'company', PATH)).toBe(false)
  })

  test('with MEMORY_MB=0, and for a table that is too large for MEMORY_MB', async () => {
    await server.stop()
    await start({ MEMORY_MB: '0' })
    expect(await total()).toBe(30)
    expect(await isInMemory(server, 'company', PATH)).toBe(false)
    await server.stop()
    await start({ MEMORY_MB: '1' })
    await server.sql`insert into company (name) select n || repeat('x', 90) from generate_series(1, 30000) as n`
    await server.sql`analyze company`
    await until(async () => (await total()) === 30_030 && said.length === 1)
    expect(said).toEqual(['MEMORY_MB is too little for a table: the database finds its lists'])
  })
})

test('calling publish_rows and notify_changes_of, as migrations of earlier versions do, creates missing triggers again', async () => {
  await server.sql`drop trigger company_deletes on company`
  await server.sql`select publish_rows('company'), notify_changes_of('company', false)`
  await untilLoaded()
})
