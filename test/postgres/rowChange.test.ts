import { beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { checkChanges } from '../../src/postgres/migrate.ts'
import { useDatabase } from '../support/database.ts'

// Rows of row_change, from which copies of tables learn which rows have changed. D70

const { url, sql } = useDatabase()
beforeAll(async () => {
  await checkChanges(url, { isKept: true, hasValues: false }, [])
  // Without the indexes of an entity, because some tests write many rows.
  await sql.unsafe(
    `create table plain (id bigint generated always as identity primary key, text text); select record_changes_of('plain')`,
  )
  await sql`insert into absence (reason) select 'r' || n from generate_series(1, 30) as n`
})

const undone = new Error('undone')

/** Runs statements in a transaction that is rolled back; returns what `read` finds in it. */
async function within<Found>(statements: readonly string[], read: (transaction: postgres.TransactionSql) => Promise<Found>) {
  let found: Found | undefined
  const work = sql.begin(async (transaction) => {
    for (const statement of statements) await transaction.unsafe(statement)
    found = await read(transaction)
    throw undone
  })
  await work.catch((error) => {
    if (error !== undone) throw error
  })
  return found as Found
}

/** Describes the ids of each row that a transaction records: their number, or that any row may have changed. */
const linesAfter = (...statements: string[]) =>
  within(statements, async (transaction) => {
    const lines = await transaction`
      select coalesce(cardinality(ids)::text, 'all') as ids from row_change where transaction = pg_current_xact_id()`
    return lines.map(({ ids }) => ids as string)
  })

const insertMany = (rows: number) => `insert into plain (text) select 'many' from generate_series(1, ${rows})`

describe('rows of row_change', () => {
  test.each<readonly [number, readonly string[]]>([
    [1, ['1']],
    [1_000, ['1000']],
    [1_001, ['1000', '1']],
    [3_500, ['1000', '1000', '1000', '500']],
    [50_001, ['all']],
  ])('a statement of %d rows records up to 1,000 ids per row of row_change, or the whole table', async (rows, expected) => {
    expect(await linesAfter(insertMany(rows))).toEqual([...expected])
  })

  test('a statement of 50,000 rows records each id once, in 50 rows of row_change', async () => {
    const [found] = await within(
      [insertMany(50_000)],
      (transaction) => transaction`
        select count(distinct row_change.ctid)::int as lines, count(*)::int as ids, count(distinct id)::int as different,
          bool_and(id in (select plain.id from plain where text = 'many')) as "areThose"
        from row_change, unnest(ids) as id where transaction = pg_current_xact_id()`,
    )
    expect(found).toEqual({ lines: 50, ids: 50_000, different: 50_000, areThose: true })
  })

  test('a transaction records at most 250 rows of row_change, and then one row that stands for the whole table', async () => {
    const one = `update absence set reason = 'x' where id = 1`
    expect(await linesAfter(...Array.from({ length: 260 }, () => one))).toEqual([...Array(250).fill('1'), 'all'])
    const large = await linesAfter(...Array.from({ length: 6 }, () => insertMany(50_000)))
    expect(large).toEqual([...Array(250).fill('1000'), 'all'])
  })

  test('row_change has no rows of statements after a savepoint that was rolled back', async () => {
    const [first, second] = [`update absence set reason = 'x' where id = 1`, `update absence set reason = 'y' where id = 2`]
    expect(await linesAfter('savepoint a', 'truncate absence', 'rollback to a', first, second)).toEqual(['1', '1'])
  })

  test.each([
    ['the mark of another transaction', `select set_config('roster.noted', '3 0 ,@,', false)`],
    ['an empty mark', `set roster.noted = ''`],
    ['an invalid mark', `set roster.noted = 'x y z'`],
  ])('a session that sets roster.noted to %s still records changed rows in row_change', async (_, setting) => {
    const [table] = await sql`select 'absence'::regclass::oid::text as oid`
    const set = setting.replace('@', table?.oid)
    expect(await linesAfter(set, `update absence set reason = 'x' where id = 1`)).toEqual(['1'])
  })

  test('a truncation that was rolled back has no effect on row_change in the next transaction of the session', async () => {
    const own = await sql.reserve()
    await own`begin`
    await own`truncate company cascade`
    await own`rollback`
    await own`begin`
    await own`update absence set reason = 'x' where id = 1`
    const lines = await own`select ids from row_change where transaction = pg_current_xact_id()`
    await own`rollback`
    own.release()
    expect(lines.map(({ ids }) => ids)).toEqual([['1']])
  })
})

const GIVES_IDS = [
  `create function give_id() returns trigger language plpgsql as 'begin new.id := new.id + 1000; return new; end'`,
  'create trigger own before update on absence for each row execute function give_id()',
]

describe('a row whose id a trigger of the table changes', () => {
  const update = `update absence set reason = 'x' where id in (1, 2)`

  test('is recorded in row_change with both ids', async () => {
    const ids = await within(
      [...GIVES_IDS, update],
      (transaction) => transaction`
        select id::int from row_change, unnest(ids) as id where transaction = pg_current_xact_id() order by id`,
    )
    expect(ids.map(({ id }) => id)).toEqual([1, 2, 1_001, 1_002])
  })

  test('has a deletion and a creation in the change feed', async () => {
    const events = await within(
      [...GIVES_IDS, 'delete from entity_change', update],
      (transaction) => transaction`select action::text || ' ' || id as event from entity_change order by event`,
    )
    expect(events.map(({ event }) => event)).toEqual(['c 1001', 'c 1002', 'd 1', 'd 2'])
  })
})

describe('tables whose changes count as recorded', () => {
  const isRecorded = (table: string, ...statements: string[]) =>
    within(statements, async (transaction) => (await transaction`select is_recorded(${table}::regclass) as yes`)[0]?.yes)
  const operators = `create function record_audit() returns trigger language plpgsql as 'begin return null; end'`
  const always = (name: string, when: string) => [
    `create trigger ${name} after ${when} on absence for each statement execute function record_audit()`,
    `alter table absence enable always trigger ${name}`,
  ]

  test('a table with the five triggers counts as recorded, also if it has other triggers', async () => {
    expect(await isRecorded('absence')).toBe(true)
    expect(await isRecorded('absence', operators, ...always('own', 'insert'))).toBe(true)
    expect(await isRecorded('absence', ...GIVES_IDS)).toBe(true)
  })

  test.each([
    ['of another function', 'own'],
    ['of another function with the name of the missing one', 'absence_inserts'],
  ])('a table that has, in place of one of the five triggers, a trigger %s does not count as recorded', async (_, name) => {
    expect(await isRecorded('absence', 'drop trigger absence_inserts on absence', operators, ...always(name, 'insert'))).toBe(
      false,
    )
  })

  test('a table does not count as recorded if its trigger compares ids only when a statement sets the id', async () => {
    const trigger = `create or replace trigger absence_other_ids after update of id on absence for each row
      when (old.id <> new.id) execute function note_other_id()`
    expect(await isRecorded('absence', trigger, 'alter table absence enable always trigger absence_other_ids')).toBe(false)
  })

  test('a table with a name of 60 letters counts as recorded, and its changes are recorded', async () => {
    const name = 'a'.repeat(60)
    const text = `create table ${name} (id bigint primary key, text text); select record_changes_of('${name}')`
    expect(
      await within([text, `insert into ${name} values (1)`], async (transaction) => [
        (await transaction`select is_recorded(${name}::regclass) as yes`)[0]?.yes,
        (await transaction`select from row_change where relation = ${name}::regclass`).length,
      ]),
    ).toEqual([true, 1])
  })

  test('a renamed table counts as recorded after write_recorders(); each change is then recorded once, also a truncation', async () => {
    const renamed = ['alter table absence rename to leave', 'select write_recorders()']
    expect(await isRecorded('leave', ...renamed)).toBe(true)
    const events = await within(
      [
        ...renamed,
        'delete from entity_change',
        `update leave set reason = 'x' where id = 1`,
        'alter table leave drop column status',
      ],
      async (transaction) => {
        await transaction`select write_recorders()`
        await transaction`delete from leave where id > 2`
        await transaction`truncate leave`
        return transaction`select action::text || count(*) as event from entity_change where entity = 'leave' group by action order by event`
      },
    )
    expect(events.map(({ event }) => event)).toEqual(['d30', 'u1'])
  })
})
