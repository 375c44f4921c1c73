import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type EmbeddedPostgres, startEmbedded } from '../../src/execute/embedded.ts'
import { migrate } from '../../src/execute/migrate.ts'

export const MIGRATIONS = join(import.meta.dir, '../../sql')

// A crash of the machine may cost a test run; a flush to disk would cost each of them time.
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '4GB',
  log_min_messages: 'fatal',
}

// Another version than the packaged one: the folder of its `bin`, `lib` and `share`.
const native = process.env.TEST_POSTGRES
const options = native ? { settings, native } : { settings }

let server: EmbeddedPostgres | undefined
let dataDir = join(tmpdir(), `roster-test-${Bun.hash(import.meta.dir).toString(36)}`)
let admin: postgres.Sql
let made = 0
let ahead: Promise<string> | undefined

/** One PostgreSQL for the whole run, on a port of its own; what a killed run left behind is stopped first. */
export async function startPostgres(): Promise<void> {
  server = await startEmbedded({ dataDir, ...options }).catch(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'roster-test-'))
    return startEmbedded({ dataDir, ...options })
  })
  admin = connect(server.url)
  await admin`drop database if exists roster_template`
  await admin`create database roster_template`
  await migrate(urlOf('roster_template'), MIGRATIONS)
}

export async function stopPostgres(): Promise<void> {
  await ahead
  await admin?.end()
  await server?.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

/** A database of one's own, with all migrations and no rows; `empty` without migrations. Returns its address. */
export function createDatabase(kind: 'migrated' | 'empty' = 'migrated'): Promise<string> {
  if (kind === 'empty') return copy('template0')
  const database = ahead ?? copy('roster_template')
  // Copied while the tests before it run, so that hardly anybody waits for one.
  ahead = copy('roster_template')
  return database
}

async function copy(template: 'roster_template' | 'template0'): Promise<string> {
  const name = `test_${process.pid}_${++made}`
  await admin.unsafe(`create database ${name} template ${template}`)
  return urlOf(name)
}

export function connect(url: string): postgres.Sql {
  return postgres(url, { max: 2, onnotice: () => undefined })
}

function urlOf(database: string): string {
  const url = new URL(server?.url ?? '')
  url.pathname = `/${database}`
  return url.href
}
