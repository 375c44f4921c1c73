import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import type postgres from 'postgres'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { loadMany } from '../support/manyRows.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, runMain, temporaryFolder, until, workersOf } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
const LOADED = /a table is in columns/g

let folder: ReturnType<typeof temporaryFolder>
let sql: postgres.Sql
let server: RunningProgram
let url: string
beforeAll(async () => {
  folder = temporaryFolder()
  const DATABASE_URL = await createDatabase()
  sql = connect(DATABASE_URL)
  await loadMany(sql, { company: 20, employee: 40, absence: 2_000 })
  const settings = { DATA_DIR: folder.path, DATABASE_URL, WORKERS: '2', BOOTSTRAP_API_KEY: KEY, COLUMNS_LOAD: 'start' }
  server = runMain({ ...settings, RATE_LIMITS: '100000/1h', RATE_LIMIT_CLIENTS: '8' })
  ;[, url = ''] = await server.waitFor(/listens on (http:\S+?),/)
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  await sql.end()
  rmSync(memoryFolderOf(folder.path, 0), { recursive: true, force: true })
  folder.remove()
})

const tables = () => [...server.output().matchAll(LOADED)].length

/** Totals over many new connections, so that every worker is asked; they must all be what the database says. */
async function expectTotal(filter: string, condition: string) {
  const [row] = await sql.unsafe(`select count(*)::text as total from absence where ${condition}`)
  const headers = { authorization: `ApiKey ${KEY}`, connection: 'close' }
  const ask = (_: unknown, size: number) =>
    fetch(`${url}/Absences?${filter}&PageSize=${5 + size}`, { headers, keepalive: false })
  const answers = await Promise.all(Array.from({ length: 16 }, ask))
  const totals = answers.map((answer) => answer.headers.get('x-total-count'))
  expect([filter, [...new Set(totals)]]).toEqual([filter, [row?.total]])
}

test(
  'with COLUMNS_LOAD=start every worker reads all tables at its start, a new one in the place of one that died too',
  async () => {
    await until(() => tables() === 2 * 3)
    await expectTotal('Period.Hours=>=900&Start=<2020-01-01T00:00:00Z', "period_hours >= 900 and start < '2020-01-01Z'")
    const [worker] = workersOf(server.pid)
    process.kill(worker as number, 'SIGKILL')
    await until(() => tables() === 3 * 3)
    await sql`update absence set period_hours = 901 where id % 7 = 0`
    await expectTotal('Period.Hours=>=900&Start=<2021-01-01T00:00:00Z', "period_hours >= 900 and start < '2021-01-01Z'")
  },
  TIMEOUT_MS,
)
