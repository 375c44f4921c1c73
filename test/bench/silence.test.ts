import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { load } from '../../bench/data/load.ts'
import { Progress } from '../../bench/data/progress.ts'
import { restore } from '../../bench/data/restore.ts'
import { rowsFor } from '../../bench/data/table.ts'
import { forgetLists } from '../../bench/forget.ts'
import { LEASE, silenceOthers } from '../../bench/silence.ts'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder, until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
const rows = rowsFor(1_000)
const cluster = useOwnPostgres()
const folder = temporaryFolder()
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

let url: string
let server: string
/** Of which the server does not hear. */
let sql: postgres.Sql
beforeAll(async () => {
  const admin = connect(cluster.url)
  await admin`create database silence`
  await admin.end()
  url = Object.assign(new URL(cluster.url), { pathname: 'silence' }).href
  await migrate(url, MIGRATIONS)
  await load(url, rows, new Progress({ write: () => undefined }))
  const settings = { WORKERS: '1', DATABASE_POOL: '4', RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '1' }
  const program = runMain({ ...settings, DATA_DIR: folder.path, DATABASE_URL: url, BOOTSTRAP_API_KEY: KEY })
  server = (await program.waitFor(/listens on (http:\S+?),/))[1] as string
  await silenceOthers(url)
  sql = connect(url)
}, TIMEOUT_MS)
afterAll(async () => {
  await sql.end()
  await endPrograms()
  folder.remove()
})

/** How many absences have this status, by the server: the second time mostly from its memory. */
async function totalOf(status: string): Promise<number> {
  const response = await fetch(`${server}/Absences?Status=${status}`, { headers })
  expect(response.status).toBe(200)
  return Number(response.headers.get('x-total-count'))
}

async function becomes(status: string, total: number) {
  for (let time = 0; time < 2; time++) await until(async () => (await totalOf(status)) === total)
}

test('of a silenced write the server hears when its lists are to be forgotten', async () => {
  await becomes('Silent', 0)
  await sql`update absence set status = 'Silent' where id = 7`
  await Bun.sleep(200)
  expect(await totalOf('Silent')).toBe(0)
  await forgetLists(url)
  await becomes('Silent', 1)
})

test('the server hears that its own writes are undone', async () => {
  await restore(url, rows)
  await becomes('Own', 0)
  await fetch(`${server}/Absences/8`, { method: 'PATCH', headers, body: '{"Status":"Own"}' })
  await becomes('Own', 1)
  expect(await restore(url, rows)).toBe(1)
  await becomes('Own', 0)
})

test('rows are not counted twice that were written in silence and undone', async () => {
  const [stored] = await sql`select status, count(*)::int as count from absence group by 1 order by 2 desc limit 1`
  await becomes(stored?.status, stored?.count)
  await sql`update absence set status = 'Silent' where status = ${stored?.status} and id < 100`
  expect(await restore(url, rows)).toBeGreaterThan(10)
  // What is heard late would be counted now.
  await Bun.sleep(200)
  expect(await totalOf(stored?.status)).toBe(stored?.count)
  await becomes(stored?.status, stored?.count)
})

test('of connections with the lease it hears all the time', async () => {
  await becomes('Heard', 0)
  const heard = postgres(url, { max: 1, connection: LEASE })
  await heard`update absence set status = 'Heard' where id = 9`
  await heard.end()
  await becomes('Heard', 1)
})
