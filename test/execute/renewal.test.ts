import { expect, test } from 'bun:test'
import { Database } from '../../src/execute/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const POOL_SIZE = 4

for (const [when, waitMs] of [
  ['before the first pool has connected', 0],
  ['while every connection is busy', 60],
] as const)
  test(`a pool that is replaced ${when} leaves no connection behind, and no query is lost`, async () => {
    const url = await createDatabase()
    const sql = connect(url)
    const database = new Database({ url, poolSize: POOL_SIZE, prepare: true })
    // More than there are connections, so that some wait in the driver's queue.
    const answers = Array.from({ length: 3 * POOL_SIZE }, (_, index) =>
      database.read({ text: `select pg_sleep(0.1)::text, ${index}`, values: [] }),
    )
    await Bun.sleep(waitMs)
    // Each of these three times is a shape worth preparing, and so many of them are a reason for a new pool.
    for (let shape = 0; shape < 200; shape++)
      for (let use = 0; use < 3; use++) answers.push(database.read({ text: `select ${shape}`, values: [] }))
    expect(await Promise.all(answers)).toHaveLength(3 * POOL_SIZE + 600)

    const open = async () => {
      const [row] = await sql`
        select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'roster'`
      return row?.n
    }
    // Those of the old pool take a moment to end; the test's time limit is for those that never would.
    while ((await open()) > POOL_SIZE) await Bun.sleep(20)
    await database.end(0)
    await sql.end()
  }, 10_000)
