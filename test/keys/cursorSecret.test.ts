import { expect, test } from 'bun:test'
import { readCursorSecret } from '../../src/keys/store.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'

async function newDatabase(): Promise<string> {
  const url = await createDatabase('empty')
  await migrate(url, MIGRATIONS)
  return url
}

test('a database keeps its cursor secret, and each database has a different one', async () => {
  const [one, other] = [await newDatabase(), await newDatabase()]
  const secret = await readCursorSecret(one)
  expect(secret).toMatch(/^[0-9a-f-]{72}$/)
  expect(secret.slice(0, 36)).not.toBe(secret.slice(36))
  expect(await readCursorSecret(one)).toBe(secret)
  expect(await readCursorSecret(other)).not.toBe(secret)
})

test('a second cursor secret cannot be inserted, and reading the secret fails if the table is empty', async () => {
  const url = await newDatabase()
  const sql = connect(url)
  await expect(Promise.resolve(sql`insert into cursor_secret default values`)).rejects.toThrow('cursor_secret_pk')
  await sql`delete from cursor_secret`
  await sql.end()
  await expect(readCursorSecret(url)).rejects.toThrow('cursor_secret is empty')
})
