import { afterAll, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { loadMany } from '../support/manyRows.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, runMain, temporaryFolder, until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
const ROUNDS = 12
const WRITES = 20
const LOADED = /a table is in columns/g
const server = useOwnPostgres({ wal_level: 'logical' })
const own = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

/** One that reads the log, and one that listens. */
const WAYS = [{}, { CHANGES: 'notify' }]
const folders: ReturnType<typeof temporaryFolder>[] = []
const programs: RunningProgram[] = []
const urls: string[] = []
/** As psql writes: over a connection that names no machine. */
let sql: postgres.Sql
beforeAll(async () => {
  const admin = connect(server.url)
  await admin`create database foreign_writes`
  await admin.end()
  const url = Object.assign(new URL(server.url), { pathname: 'foreign_writes' }).href
  await migrate(url, MIGRATIONS)
  await prepare(url)
  sql = connect(url)
  const started = WAYS.map(async (way, at) => {
    const folder = temporaryFolder()
    folders.push(folder)
    const common = { DATA_DIR: folder.path, DATABASE_URL: url, DATABASE_POOL: '4', BOOTSTRAP_API_KEY: KEY }
    const more = { WORKERS: '1', COLUMNS_LOAD: 'start', RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '1' }
    const program = runMain({ ...common, ...more, ...way })
    programs[at] = program
    urls[at] = (await program.waitFor(/listens on (http:\S+?),/))[1] as string
    await until(() => loaded(program) === 3)
  })
  await Promise.all(started)
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  await sql.end()
  for (const { remove } of folders) remove()
})

/** PostgreSQL counts what a session has made at its end: servers that begin before that drop what they have. */
async function prepare(url: string) {
  const session = connect(url)
  await loadMany(session, { company: 20, employee: 40, absence: 2_000 })
  const pids = await session`
    select pid from pg_stat_activity where datname = current_database() and notify_changes_of('absence') is not null`
  await session.end()
  const admin = connect(server.url)
  await until(
    async () => (await admin`select from pg_stat_activity where pid = any (${pids.map(({ pid }) => pid)})`).count === 0,
  )
  await admin.end()
}

const loaded = (program: RunningProgram) => [...program.output().matchAll(LOADED)].length

/** One of three, or all in one transaction. */
async function write(number: number): Promise<void> {
  const id = 1 + ((number * 37) % 1_900)
  const texts = [
    `update absence set period_days = ${number % 60}, status = 'Foreign ${number % 3}' where id in (${id}, ${id + 7})`,
    `insert into absence (status, start, period_days) values ('Foreign ${number % 3}', '2020-01-01Z', ${number % 60})`,
    `delete from absence where id = (select max(id) from absence where status = 'Foreign ${number % 3}')`,
  ]
  const chosen = number % 4 === 3 ? texts : [texts[number % 4] as string]
  await sql.begin(async (transaction) => {
    for (const text of chosen) await transaction.unsafe(text)
  })
}

async function list(at: number, query: string) {
  const answer = await fetch(`${urls[at]}/Absences?${query}&PageSize=50`, { headers: own })
  const rows = answer.status === 200 ? ((await answer.json()) as { id: number }[]) : []
  return { status: answer.status, total: Number(answer.headers.get('x-total-count')), ids: rows.map(({ id }) => id) }
}

/** What PostgreSQL says of the same list. */
async function right(inside: postgres.Sql | postgres.TransactionSql, days: number, least: number) {
  const rows = await inside`
    select id::int from absence where period_days >= ${days} and id >= ${least} order by start desc, id desc`
  return { status: 200, total: rows.length, ids: rows.slice(0, 50).map(({ id }) => id as number) }
}

/** While nothing of the table can be read, so that a list comes from columns, or not at all; on a busy machine news are late at times. */
async function isFoundWithoutTable(at: number, days: number, least: number): Promise<boolean> {
  return sql.begin(async (locking) => {
    await locking`lock table absence in access exclusive mode`
    const found = await list(at, `Period.Days=>=${days}&Id=>=${least}&sort=-Start`)
    if (found.status === 200) expect(found).toEqual(await right(locking, days, least))
    return found.status === 200
  })
}

test(
  'columns take in what psql writes: lists that were never asked before are right, and come from them',
  async () => {
    for (const [at] of WAYS.entries()) await until(() => isFoundWithoutTable(at, 0, at))
    const before = programs.map(loaded)
    for (let round = 0; round < ROUNDS; round++) {
      for (let number = 0; number < WRITES; number++) {
        await write(round * WRITES + number)
        // Beside the writes, so that columns are in use.
        for (const [at] of WAYS.entries())
          expect((await list(at, `Period.Days=>=${number}&Id=>=${round}&sort=-Start`)).status).toBe(200)
      }
      const days = round % 30
      const query = (least: number) => `Period.Days=>=${days}&Id=>=${least}&sort=-Start`
      for (const [at] of WAYS.entries()) {
        const least = 1_000 + 2 * round + at
        // News of the last write may come a moment later.
        await until(async () => Bun.deepEquals(await list(at, query(least)), await right(sql, days, least)))
      }
      for (const [at] of WAYS.entries()) await until(() => isFoundWithoutTable(at, days, 1_200 + 2 * round + at))
    }
    expect(programs.map(loaded)).toEqual(before)
  },
  TIMEOUT_MS,
)
