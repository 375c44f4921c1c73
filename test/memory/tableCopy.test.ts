import { afterEach, beforeEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { readByCopy } from '../../src/memory/copyPieces.ts'
import { QuestionQueue } from '../../src/memory/questionQueue.ts'
import { CopyLost, type TableCopy } from '../../src/memory/tableCopy.ts'
import { readTexts } from '../../src/memory/tableReader.ts'
import type { Property } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { readCopy } from '../support/copies.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let sql: postgres.Sql
let database: Database
let url: string
let lost: unknown
let refresh: (copy: TableCopy) => Promise<void>
beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  database = new Database({ url, poolSize: 2, prepare: true })
  lost = null
  const queue = new QuestionQueue(database)
  refresh = (copy) => queue.refresh([copy])
  await sql`insert into company (name) select 'c' || n from generate_series(1, 30) as n`
})
afterEach(() => Promise.all([database.end(), sql.end()]))

/** A copy that was read before `write`, and that no list uses yet. */
function copyFromBefore(write: () => Promise<unknown>, questions = database): Promise<TableCopy> {
  return readCopy(company, { url, database, questions, onLost: (error) => (lost = error), write })
}

async function createMany(statements: number) {
  const create = () => sql`insert into company (name) select 'many' from generate_series(1, 1000)`
  for (let left = statements; left > 0; left--) await create()
}

test('a loaded copy applies all writes that were committed during its load before lists use it', async () => {
  const copy = await copyFromBefore(() => createMany(7))
  await copy.catchUpAfterLoad()
  expect([copy.columns.rows, copy.table === null]).toEqual([7_030, false])
})

test('a copy applies many changed rows in several turns of the event loop, and answers no list before the last turn', async () => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  // Long names, so that all rows take longer than one turn on any machine.
  await sql`insert into company (name) select repeat('name ', 100) || n from generate_series(1, 5000) as n`
  const seen = { settled: new Set<number>(), unsettled: new Set<number>() }
  let isOver = false
  const watch = async () => {
    for (; !isOver; await new Promise(setImmediate))
      seen[copy.changesApplied() === null ? 'settled' : 'unsettled'].add(copy.columns.rows)
  }
  const watching = watch()
  await refresh(copy)
  isOver = true
  await watching
  expect([...seen.settled].every((rows) => rows === 30 || rows === 5_030)).toBe(true)
  expect(seen.unsettled.size).toBeGreaterThan(0)
  expect([copy.changesApplied(), copy.columns.rows, copy.table === null]).toEqual([null, 5_030, false])
})

test('a copy ends if it cannot store a changed row, and lists that wait for it are left to PostgreSQL', async () => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  // Beyond 2^53, where an id has no code.
  await sql`insert into company (id, name) overriding system value values (9007199254740993, 'beyond')`
  await refresh(copy)
  expect([copy.changesApplied(), copy.table, copy.unusable, String(lost)]).toEqual([
    null,
    null,
    'noCopy',
    expect.stringContaining('2^53'),
  ])
})

test('the texts of a property are read in the order of its collation', async () => {
  const texts = ['', 'b', 'B', 'a', '\\', 'tab\tand\nline', '\\n', 'é', 'z', 'c3']
  await sql`insert into company ${sql(texts.map((name) => ({ name })))}`
  await sql`insert into company (name) values (null), ('b')`
  const property = company.properties.find(({ name }) => name === 'Name') as Property
  const read: string[] = []
  await readTexts(url, company, property, (name) => read.push(name))
  const rows = await sql`select distinct name from company where name is not null order by name`
  expect(read).toEqual(rows.map(({ name }) => name))
  expect(read).toHaveLength(30 + texts.length - 1)
})

test('a copy that is too far behind answers no list until it has caught up', async () => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  await createMany(7)
  await refresh(copy)
  expect([copy.table === null, lost]).toEqual([true, null])
  await refresh(copy)
  expect([copy.columns.rows, copy.table === null, lost]).toEqual([7_030, false, null])
})

test('a list that arrives while the copy turns out to be too far behind does not wait until it has caught up', async () => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  await createMany(7)
  const first = refresh(copy)
  // The question of the first list is sent in a turn of its own.
  await new Promise(setImmediate)
  await refresh(copy)
  expect([copy.table === null, lost]).toEqual([true, null])
  await first
  await refresh(copy)
  expect([copy.columns.rows, copy.table === null, lost]).toEqual([7_030, false, null])
})

test('a list does not fail if PostgreSQL reads changes too slowly; the copy ends if catching up also takes too long', async () => {
  const impatient = new Database({ url, poolSize: 2, prepare: true, statementMsMax: 1 })
  try {
    const copy = await copyFromBefore(async () => undefined, impatient)
    await createMany(4)
    await refresh(copy)
    expect([copy.table === null, lost]).toEqual([true, null])
    await refresh(copy)
    expect(lost).toBeInstanceOf(CopyLost)
  } finally {
    await impatient.end()
  }
})

test.each([
  ['more changed rows than it can apply while it catches up', () => createMany(51)],
  [
    'a statement that changes more rows than row_change records ids of',
    () => sql`insert into company (name) select 'many' from generate_series(1, 50001)`,
  ],
])('a copy ends after %s', async (_, write) => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  await write()
  await refresh(copy)
  await refresh(copy)
  expect([copy.table === null, String(lost)]).toEqual([true, 'Error: too many rows have changed'])
})

/** Calls `work` as a new role with all rights on the tables, which the statements `rights` change; `@` in them is its name. */
async function asRole(rights: string, work: (change: (text: string) => Promise<unknown>) => Promise<void>) {
  const role = `copying_${new URL(url).pathname.slice(1)}`
  const change = (text: string) => sql.unsafe(text.replaceAll('@', role))
  await change(
    `create role @ login password 'p'; create role readers_@; grant all on all tables in schema public to @; ${rights}`,
  )
  const superuser = { url, database }
  url = Object.assign(new URL(url), { username: role, password: 'p' }).href
  database = new Database({ url, poolSize: 2, prepare: true })
  try {
    await work(change)
  } finally {
    await database.end()
    ;({ url, database } = superuser)
    await change('drop owned by @, readers_@; drop role @, readers_@')
  }
}

test.each([
  ['the right to read the table', '', 'revoke select on company from @'],
  ['the right to read a column', '', 'revoke select on company from @; grant select (id, name) on company to @'],
  ['the right to the schema', '', 'revoke usage on schema public from public'],
  ['access to rows, by row level security', '', 'alter table company enable row level security'],
  [
    'the rights that it had from another role',
    'revoke all on company from @; grant select on company to readers_@; grant readers_@ to @',
    'revoke readers_@ from @',
  ],
])('a copy ends when it next reads changes after its role has lost %s', (_, rights, loss) =>
  asRole(rights, async (change) => {
    const copy = await copyFromBefore(async () => undefined)
    await copy.catchUpAfterLoad()
    // So often that the question is a prepared statement.
    for (let asked = 1; asked <= 4; asked++) await refresh(copy)
    expect([copy.columns.rows, copy.table === null, lost]).toEqual([30, false, null])
    await change(loss)
    await refresh(copy)
    expect([copy.table === null, lost]).toEqual([true, expect.any(Error)])
  }),
)

test('a copy is kept if its role has the right to read each column, but none to read the table as a whole', () =>
  asRole(
    `revoke select on company from @; grant select (${company.properties.map(({ column }) => column)}) on company to @`,
    async () => {
      const copy = await copyFromBefore(() => sql`update company set name = 'new' where id = 1`)
      await copy.catchUpAfterLoad()
      await refresh(copy)
      expect([copy.columns.rows, copy.table === null, lost]).toEqual([30, false, null])
    },
  ))

test('the size of a copy in bytes includes the orders of texts that lists need', async () => {
  const copy = await copyFromBefore(() => createMany(1))
  await copy.catchUpAfterLoad()
  const { bytes } = copy.columns
  await copy.table?.prepare(parseList(wholeView(company), 'sort=Name'), { key: 'a', request: new Request('http://localhost') })
  expect(copy.columns.bytes).toBeGreaterThan(bytes)
})

test.each([
  ['a disabled trigger', 'alter table company disable trigger company_updates'],
  ['a child table', 'create table child () inherits (company)'],
])('%s that appears during the load of a table makes the copy end before lists use it', async (_, text) => {
  const copy = await copyFromBefore(() => sql.unsafe(`${text}; update company set name = 'unnoted'`))
  await expect(copy.catchUpAfterLoad()).rejects.toThrow('the table was defined anew')
})

test.each([
  ['a view', 'create view company as select * from company_old where enabled'],
  ['another table', 'create table company (like company_old including all)'],
])('a copy ends when %s takes the name of its table', async (_, text) => {
  const copy = await copyFromBefore(async () => undefined)
  await copy.catchUpAfterLoad()
  await sql.begin((transaction) => transaction.unsafe(`alter table company rename to company_old; ${text}`).simple())
  await refresh(copy)
  expect([copy.table === null, String(lost)]).toEqual([
    true,
    expect.stringContaining('the table, the database or a right is another'),
  ])
})

test('row_change and row_change_run from a dump of another cluster are replaced, and the copy is kept', async () => {
  await sql`update row_change_run set run = 'of another cluster', kept_from = '9000000000'`
  await sql`insert into row_change (transaction, relation) values ('9000000000', 'company'::regclass)`
  const copy = await copyFromBefore(() => sql`update company set name = 'changed' where id = 1`)
  await copy.catchUpAfterLoad()
  await refresh(copy)
  expect([copy.columns.rows, lost]).toEqual([30, null])
  expect(await sql`select from row_change where transaction > '8000000000'`).toHaveLength(0)
})

test.each([
  ['fails before its first row', 'select 1 / (n - n) from generate_series(1, 1) as n', 'division by zero'],
  ['has very long rows', "select n, repeat('x', 1000000) from generate_series(1, 70) as n", 'rows are too long'],
])('a load that %s is refused, and other loads succeed', async (_, query, message) => {
  const following = () => ({ text: `copy (${query}) to stdout`, values: [] })
  let fault: unknown
  const load = async (transaction: postgres.TransactionSql) => {
    fault = await readByCopy(transaction, following, () => undefined).catch((error) => error)
    await sql.end({ timeout: 0 })
  }
  await sql.begin(load).catch(() => undefined)
  expect(String(fault)).toContain(message)
})
