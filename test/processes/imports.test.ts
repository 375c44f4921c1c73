import { expect, test } from 'bun:test'
import { proveImports } from '../prove/imports.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { KEY } from '../support/server.ts'
import { startProcess } from '../support/start.ts'

test('a repeated import creates each row of a file exactly once, although workers and the import itself are killed', async () => {
  const DATABASE_URL = await createDatabase()
  const { server, url } = await startProcess({ DATABASE_URL })
  const sql = connect(DATABASE_URL)
  const { differences, ...killed } = await proveImports({ seed: 3, server: { url, pid: server.pid, sql }, key: KEY, kills: 6 })
  await sql.end()
  expect(differences).toEqual([])
  expect(killed.workersKilled).toBeGreaterThan(0)
  expect(killed.importsKilled).toBeGreaterThan(0)
})
