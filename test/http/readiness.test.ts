import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Database } from '../../src/execute/database.ts'
import { isReady } from '../../src/http/readiness.ts'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { createDatabase, MIGRATIONS } from '../support/postgres.ts'

const files = readMigrations(MIGRATIONS).map(({ file }) => file)
const open = (url: string) => new Database({ url, poolSize: 1, prepare: true })

let url: string
let database: Database
beforeAll(async () => {
  url = await createDatabase()
  database = open(url)
})
afterAll(() => database.end(100))

test('ready is a database with every migration', async () => {
  expect(await isReady(database, files)).toBe(true)
})

test('one that lacks a migration is not', async () => {
  expect(await isReady(database, [...files, '9999_future.sql'])).toBe(false)
})

test('one with more, by a newer version, is', async () => {
  expect(await isReady(database, files.slice(0, 1))).toBe(true)
})

test('D39: one that is away is ServiceUnavailable', async () => {
  const away = open(Object.assign(new URL(url), { port: '9' }).href)
  await expect(isReady(away, files)).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  await away.end(100)
})

test('one that was never migrated is not ready, which is no failure of ours', async () => {
  const empty = open(await createDatabase('empty'))
  const answer = await isReady(empty, files).catch((error) => error.code)
  expect([false, 'ServiceUnavailable']).toContain(answer)
  await empty.end(100)
})
