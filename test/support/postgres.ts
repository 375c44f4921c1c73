import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { loadSample, migrate } from '../../src/postgres/migrate.ts'
import { copyCluster } from './cluster.ts'

export const MIGRATIONS = join(import.meta.dir, '../../sql')

// Flushes to disk take time in each test. Only a crash of the machine would need them.
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '1GB',
  log_min_messages: 'fatal',
  // Autovacuum would be busy with hundreds of small databases. Tests that need statistics run analyze.
  autovacuum: 'off',
  max_prepared_transactions: '2',
}

// Folder with `bin`, `lib` and `share` of another version than the packaged one.
const native = process.env.TEST_POSTGRES
const options = native ? { settings, native } : { settings }

export interface TestPostgres {
  readonly url: string
  stop(): Promise<void>
}

let serverUrl = ''
let admin: postgres.Sql
let strategy: Promise<string> | undefined
let made = 0
let ahead: Promise<string> | undefined

/** Starts a PostgreSQL with the template of databases; first stops one that a killed run has left. */
export async function startPostgres(place = 0, disk = tmpdir()): Promise<TestPostgres> {
  let dataDir = join(disk, `roster-test-${Bun.hash(import.meta.dir).toString(36)}-${place}`)
  const server = await start(dataDir).catch(() => {
    dataDir = mkdtempSync(join(disk, 'roster-test-'))
    return start(dataDir)
  })
  const sql = connect(server.url)
  await sql`drop database if exists roster_template`
  await sql`create database roster_template`
  await sql.end()
  await migrate(urlOf('roster_template', server.url), MIGRATIONS)
  return {
    url: server.url,
    async stop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  // The copied cluster is of the packaged version.
  if (!native && !existsSync(join(dataDir, 'postgres'))) copyCluster(dataDir)
  return startEmbedded({ dataDir, ...options, access: 'everything' })
}

/** Sets the PostgreSQL in which databases are created from now on. */
export function joinPostgres(url: string): void {
  serverUrl = url
  admin = connect(url)
}

/**
 * Returns the cheapest strategy to copy a database: copying files. Copying by the WAL costs more than twice as much; it only
 * ensures that the database survives a crash of PostgreSQL.
 */
async function cheapestCopy(sql: postgres.Sql): Promise<string> {
  const [row] = await sql`select current_setting('server_version_num')::int >= 150000 as "hasStrategies"`
  return row?.hasStrategies ? 'strategy file_copy' : ''
}

/** Closes all connections, after which the tests can join another PostgreSQL. */
export async function leavePostgres(): Promise<void> {
  await ahead
  ahead = undefined
  await Promise.all(connections.splice(0).map((sql) => sql.end({ timeout: 0 })))
}

/** Creates a database with all migrations and no rows; `empty`: without migrations. Returns its address. */
export function createDatabase(kind: 'migrated' | 'empty' = 'migrated'): Promise<string> {
  if (kind === 'empty') return copy('empty')
  const database = ahead ?? copy('migrated')
  // Most files need one database. For other files, the next database is copied while earlier tests run, so that few tests wait
  // for it.
  if (made > 1) ahead = copy('migrated')
  return database
}

/** Creates a database with the sample of a first start. Returns its address. */
export async function createSampleDatabase(): Promise<string> {
  const url = await createDatabase()
  await loadSample(url, true)
  return url
}

/** Returns the address of the same database for a role that may use existing objects and create new ones, and no more. */
export async function asPlainRole(url: string): Promise<string> {
  const own = new URL(url)
  const role = `${own.pathname.slice(1)}_role`
  const sql = connect(url)
  await sql.unsafe(`
    create role ${role} login password 'plain';
    grant all on schema public to ${role};
    grant all on all tables in schema public to ${role}`)
  await sql.end()
  return Object.assign(own, { username: role, password: 'plain' }).href
}

/** Returns the address of a database that does not exist yet, and a function that creates it; `empty`: without migrations. */
export function reserveDatabase(kind: 'migrated' | 'empty' = 'migrated'): { url: string; create(): Promise<string> } {
  const name = `test_${process.pid}_${Date.now().toString(36)}_${++made}`
  const url = urlOf(name)
  const template = kind === 'empty' ? 'template0' : 'roster_template'
  const create = async () => {
    await admin.unsafe(`create database ${name} template ${template} ${await (strategy ??= cheapestCopy(admin))}`)
    return url
  }
  return { url, create }
}

const copy = (kind: 'migrated' | 'empty') => reserveDatabase(kind).create()

const connections: postgres.Sql[] = []

/** Opens connections that are closed at the end of the test file. */
export function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 2, onnotice: () => undefined })
  connections.push(sql)
  return sql
}

function urlOf(database: string, server = serverUrl): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
