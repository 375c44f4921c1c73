import { expect, test } from 'bun:test'
import { checkChanges } from '../../src/postgres/migrate.ts'
import { deleteOldRows, oldAnswers, oldChanges } from '../../src/postgres/oldRows.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

test('stored answers of Idempotency-Keys are deleted after 24 hours, not before; a missing table is logged', async () => {
  const url = await createDatabase()
  const sql = connect(url)
  await sql`alter table idempotency_key rename to away`
  const options = { sliceRows: 10, slicePauseMs: 1, idlePauseMs: 20 }
  const faults: string[] = []
  const note = (reason: string) => void faults.push(reason)
  const servers = [deleteOldRows(url, [oldAnswers], note, options), deleteOldRows(url, [oldAnswers], note, options)]
  await until(() => faults.length > 0)
  await sql`
    insert into away (id, request, created)
    select gen_random_uuid(), gen_random_uuid(), now() - make_interval(hours => 23, mins => 2 * n)
    from generate_series(0, 59) as n`
  const before = await sql`select id from away where created >= now() - interval '24 hours'`
  expect(before.length).toBeGreaterThan(20)
  await sql`alter table away rename to idempotency_key`
  await until(async () => (await sql`select from idempotency_key`).count === before.count)
  expect((await sql`select id from idempotency_key where id = any (${before.map(({ id }) => id)})`).count).toBe(before.count)
  await Promise.all(servers.map((stop) => stop()))
  expect(new Set(faults)).toEqual(new Set(['relation "idempotency_key" does not exist']))
})

test('old changes are deleted, oldest first, and change_feed has the position of the last deleted one', async () => {
  const url = await createDatabase()
  const sql = connect(url)
  await sql`
    insert into entity_change (position, entity, id, action, at, key, changed)
    select n / 3, (array['company', 'employee', 'absence'])[1 + n % 3], n, 'u', now() - make_interval(days => 10, mins => 30 - n), '', '{}'
    from generate_series(1, 60) as n`
  const options = { sliceRows: 7, slicePauseMs: 1, idlePauseMs: 20 }
  const fail = (reason: string) => expect(reason).toBe('none')
  const servers = [deleteOldRows(url, [oldChanges(10)], fail, options), deleteOldRows(url, [oldChanges(10)], fail, options)]
  // A change that was almost ten days old at first is also deleted as soon as it is ten days old.
  await until(async () => (await sql`select from entity_change where id < 30`).count === 0)
  await Promise.all(servers.map((stop) => stop()))
  const [left] = await sql`select count(*)::int as count, min(id)::int as first from entity_change`
  expect([left?.count, left?.first]).toEqual([61 - left?.first, expect.any(Number)])
  const [feed] = await sql`select deleted_position::int as position, deleted_number::int as number from change_feed`
  expect(feed).toMatchObject({ position: Math.floor((left?.first - 1) / 3), number: left?.first - 1 })
})

test('the change feed gets a new run only when it is switched off or on, or when the database is another one', async () => {
  const url = await createDatabase()
  const sql = connect(url)
  const runAfter = async (isKept: boolean) => {
    await checkChanges(url, { isKept, hasValues: false }, [])
    return (await sql`select run from change_feed`)[0]?.run
  }
  const leave = () =>
    sql`insert into entity_change (position, entity, id, action, key, changed) values (1, 'company', 1, 'u', '', '{}')`
  const first = await runAfter(true)
  await leave()
  expect(await runAfter(true)).toBe(first)
  expect(await sql`select from entity_change`).toHaveLength(1)
  const off = await runAfter(false)
  expect(await sql`select from entity_change`).toHaveLength(0)
  expect(await runAfter(false)).toBe(off)
  const again = await runAfter(true)
  expect(new Set([first, off, again]).size).toBe(3)
  // The state after a dump was restored elsewhere.
  await sql`update change_feed set origin = '1 1'`
  await leave()
  expect(await runAfter(true)).not.toBe(again)
  expect(await sql`select from entity_change`).toHaveLength(0)
})
