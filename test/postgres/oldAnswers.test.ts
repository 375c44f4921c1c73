import { expect, test } from 'bun:test'
import { OldAnswers } from '../../src/postgres/oldAnswers.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

test('answers under a key are deleted after 24 hours, slice by slice, and no others; also where the database was away', async () => {
  const url = await createDatabase()
  const sql = connect(url)
  await sql`alter table idempotency_key rename to away`
  const options = { sliceRows: 10, slicePauseMs: 1, lookPauseMs: 20 }
  const servers = [new OldAnswers(url, options), new OldAnswers(url, options)]
  await sql`
    insert into away (id, request, created)
    select gen_random_uuid(), gen_random_uuid(), now() - make_interval(hours => 23, mins => 2 * n)
    from generate_series(0, 59) as n`
  const before = await sql`select id from away where created >= now() - interval '24 hours'`
  expect(before.length).toBeGreaterThan(20)
  await sql`alter table away rename to idempotency_key`
  await until(async () => (await sql`select from idempotency_key`).count === before.count)
  expect((await sql`select id from idempotency_key where id = any (${before.map(({ id }) => id)})`).count).toBe(
    before.count,
  )
  await Promise.all(servers.map((server) => server.stop()))
  await sql.end()
})
