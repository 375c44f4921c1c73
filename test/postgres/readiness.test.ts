import { expect, test } from 'bun:test'
import { Database } from '../../src/execute/database.ts'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { createReadiness } from '../../src/postgres/readiness.ts'
import { useDatabase } from '../support/database.ts'
import { createDatabase, MIGRATIONS } from '../support/postgres.ts'

const files = readMigrations(MIGRATIONS).map(({ file }) => file)
const open = (url: string) => new Database({ url, poolSize: 1, prepare: true })

const { poolOf } = useDatabase()
const database = poolOf({ poolSize: 1 })

test('a database is ready if it has every migration of the server, also if it has more from a newer version', async () => {
  const asked = [files, files.slice(0, 1), [...files, '9999_future.sql']]
  expect(await Promise.all(asked.map((own) => createReadiness((statement) => database.read(statement), own)()))).toEqual([
    true,
    true,
    false,
  ])
})

test('no second readiness query is sent while the database has not answered the first one', async () => {
  let asked = 0
  const isReady = createReadiness(() => new Promise<never>(() => asked++), files)
  void isReady()
  await Bun.sleep(1_100)
  void isReady()
  expect(asked).toBe(1)
})

test('a database that was never migrated is reported as not ready or unavailable, not as an internal error', async () => {
  const empty = open(await createDatabase('empty'))
  const answer = await createReadiness((statement) => empty.read(statement), files)().catch((error) => error.code)
  expect([false, 'ServiceUnavailable']).toContain(answer)
  await empty.end()
})
