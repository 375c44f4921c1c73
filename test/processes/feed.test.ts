import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { heldCommits, holdCommits } from '../support/heldCommits.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, runMain, temporaryFolder, until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 60_000
const server = useOwnPostgres({ wal_level: 'logical' })
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
const READ = /writes of others are read from the database’s log/
const HEARD = /writes of others are heard by NOTIFY/

interface Site {
  readonly program: RunningProgram
  readonly url: string
}

const TROUBLE = / (?:warn|error)\s+(?!\s|the role of DATABASE_URL)/

let sql: postgres.Sql
let databaseUrl: string
const folders: ReturnType<typeof temporaryFolder>[] = []
/** Two that read the log, and one that listens. */
let [a, b, hears]: [Site, Site, Site] = [] as never
beforeAll(async () => {
  const admin = connect(server.url)
  await admin`create database feed`
  await admin.end()
  databaseUrl = Object.assign(new URL(server.url), { pathname: 'feed' }).href
  await migrate(databaseUrl, MIGRATIONS)
  sql = connect(databaseUrl)
  ;[a, b, hears] = await Promise.all([start('auto'), start('auto'), start('notify')])
}, TIMEOUT_MS)
beforeEach(async () => {
  await sql`truncate company, employee, absence restart identity`
  for (const site of [a, b, hears]) await until(async () => (await totalOf(site)) === 0)
})
afterAll(async () => {
  await endPrograms()
  await sql?.end()
  for (const { remove } of folders) remove()
})

async function start(CHANGES: string): Promise<Site> {
  const folder = temporaryFolder()
  folders.push(folder)
  const program = runMain({
    CHANGES,
    DATA_DIR: folder.path,
    DATABASE_URL: databaseUrl,
    DATABASE_POOL: '4',
    BOOTSTRAP_API_KEY: KEY,
    WORKERS: '1',
    RATE_LIMITS: '1000000/1s',
    RATE_LIMIT_CLIENTS: '1',
  })
  const [, url = ''] = await program.waitFor(/listens on (http:\S+?),/)
  return { program, url }
}

async function send(site: Site, method: string, path: string, body?: unknown) {
  const answer = await fetch(site.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return { total: Number(answer.headers.get('x-total-count')), body: text === '' ? null : JSON.parse(text) }
}

const LIST = '/Companies?Enabled=false&sort=-Name'
async function totalOf(site: Site, path = LIST) {
  return (await send(site, 'GET', path)).total
}

describe('two servers on one database', () => {
  test(
    'that read its log have each other’s rows, psql’s, and those of cascades, in their lists within moments',
    async () => {
      for (const { program } of [a, b]) expect(program.output()).toMatch(READ)
      await sql`insert into company (name) select 'c' || n from generate_series(1, 100) as n`
      for (const site of [a, b]) await until(async () => (await totalOf(site)) === 100)
      const { body } = await send(a, 'POST', '/Companies', { Name: 'new' })
      expect(await totalOf(a)).toBe(101)
      await until(async () => (await totalOf(b)) === 101)
      await send(b, 'POST', '/Employees', { EmployeeNumber: 'E1', CompanyId: body.id })
      const path = '/Employees?Company=renamed'
      for (const site of [a, b]) expect(await totalOf(site, path)).toBe(0)
      await send(b, 'PATCH', `/Companies/${body.id}`, { Name: 'renamed' })
      expect(await totalOf(b, path)).toBe(1)
      await until(async () => (await totalOf(a, path)) === 1)
      await sql`delete from employee`
      for (const site of [a, b]) await until(async () => (await totalOf(site, path)) === 0)
    },
    TIMEOUT_MS,
  )

  test(
    'of which one listens hear of each other’s writes, and so during an upgrade from one way to the other',
    async () => {
      expect(hears.program.output()).toMatch(HEARD)
      for (let round = 1; round <= 5; round++)
        for (const [writer, other] of [
          [a, hears],
          [hears, a],
        ] as const) {
          const before = await totalOf(writer)
          await until(async () => (await totalOf(other)) === before)
          await send(writer, 'POST', '/Companies', { Name: `${round}` })
          expect(await totalOf(writer)).toBe(before + 1)
          await until(async () => (await totalOf(other)) === before + 1)
        }
    },
    TIMEOUT_MS,
  )
})

test(
  'a page that was read while a commit was on disk and not to be seen has it as soon as it is; the lists of before were right too',
  async () => {
    const site = a
    await sql`insert into company (name) select 'c' || n from generate_series(1, 60) as n`
    await until(async () => (await totalOf(site)) === 60)
    const admin = connect(server.url)
    const writer = connect(databaseUrl)
    const probe = connect(server.url)
    const release = await holdCommits(admin, probe)
    try {
      const written = writer`insert into company (name) values ('held')`.execute()
      await until(async () => (await heldCommits(admin)) === 2)
      for (let look = 0; look < 20; look++) {
        expect(await totalOf(site)).toBe(60)
        expect(await totalOf(site, `/Companies?Enabled=false&PageSize=${1 + look}`)).toBe(60)
        await Bun.sleep(20)
      }
      await release()
      await written
      await until(async () => (await totalOf(site)) === 61)
      for (let look = 0; look < 20; look++)
        expect(await totalOf(site, `/Companies?Enabled=false&PageSize=${1 + look}`)).toBe(61)
      // The same rows were published once, not twice.
      await sql`delete from company where name = 'held'`
      await until(async () => (await totalOf(site)) === 60)
    } finally {
      await release()
      await writer.end()
      await probe.end()
      await admin.end()
    }
  },
  TIMEOUT_MS,
)

test('and none of them has logged a trouble', () => {
  for (const { program } of [a, b, hears]) expect(program.output()).not.toMatch(TROUBLE)
})
