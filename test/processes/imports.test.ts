import { afterAll, beforeAll, expect, test } from 'bun:test'
import { proveImports } from '../prove/imports.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
const folder = temporaryFolder()

let server: Parameters<typeof proveImports>[0]['server']
beforeAll(async () => {
  const database = await createDatabase()
  const settings = { DATA_DIR: folder.path, DATABASE_URL: database, BOOTSTRAP_API_KEY: KEY }
  const program = runMain({ ...settings, WORKERS: '2', RATE_LIMITS: '1000000/1s' })
  const [, url = ''] = await program.waitFor(/listens on (http:\S+?),/)
  server = { url, pid: program.pid, sql: connect(database) }
}, TIMEOUT_MS)
afterAll(async () => {
  await server.sql.end()
  await endPrograms()
  folder.remove()
}, TIMEOUT_MS)

test(
  'a file is imported once, though workers and the import itself are killed on the way',
  async () => {
    const { differences, ...killed } = await proveImports({ seed: 3, server, key: KEY, kills: 6 })
    expect(differences).toEqual([])
    expect(killed.workersKilled).toBeGreaterThan(0)
    expect(killed.importsKilled).toBeGreaterThan(0)
  },
  TIMEOUT_MS,
)
