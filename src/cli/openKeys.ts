import { join } from 'node:path'
import type postgres from 'postgres'
import type { Config } from '../config.ts'
import { connectOnce } from '../execute/connect.ts'
import { KeyRefused, KeyStore } from '../keys/store.ts'
import { DataDirInUse, startEmbedded } from '../postgres/embedded.ts'
import { migrate } from '../postgres/migrate.ts'
import { runningPostgres } from '../postgres/postmaster.ts'
import { CommandError } from './run.ts'

const MIGRATIONS = join(import.meta.dir, '../../sql')
/** A server's first start makes a cluster, which takes seconds. */
const START_MS_MAX = 30_000

/** Does `work` with the keys of the database that the settings name. @throws CommandError */
export async function withKeys<T>(config: Config, work: (store: KeyStore) => Promise<T>): Promise<T> {
  const database = await openDatabase(config).catch(orUnusable)
  try {
    await requireTable(database.url).catch(orUnusable)
    const store = new KeyStore(database.url)
    return await work(store)
      .catch(orFailed)
      .finally(() => store.end())
  } finally {
    await database.close()
  }
}

interface OpenDatabase {
  readonly url: string
  close(): Promise<void>
}

const leaveOpen = async () => undefined

/** The one that DATABASE_URL names, or that a server runs in DATA_DIR, or one that is started for the command. */
async function openDatabase({ databaseUrl, dataDir }: Config): Promise<OpenDatabase> {
  if (databaseUrl) return { url: databaseUrl, close: leaveOpen }
  for (const giveUpMs = performance.now() + START_MS_MAX; ; await Bun.sleep(100)) {
    const own = await startOwn(dataDir).catch((error) => {
      if (!(error instanceof DataDirInUse)) throw error
      return null
    })
    if (own) return own
    const url = runningPostgres(dataDir)
    if (url && (await answers(url))) return { url, close: leaveOpen }
    if (performance.now() > giveUpMs) throw new Error(`the one in ${dataDir} is in use, and does not answer`)
  }
}

/** Not shared: it ends with the command, and would take another command's work with it. */
async function startOwn(dataDir: string): Promise<OpenDatabase> {
  const embedded = await startEmbedded({ dataDir, isShared: false })
  const abort = () => {
    embedded.kill()
    process.exit(1)
  }
  process.once('SIGINT', abort).once('SIGTERM', abort)
  return {
    url: embedded.url,
    async close() {
      await embedded.stop()
      process.off('SIGINT', abort).off('SIGTERM', abort)
    },
  }
}

async function answers(url: string): Promise<boolean> {
  return ask(url, async (sql) => (await sql`select 1`).length === 1).catch(() => false)
}

/**
 * Keys can be made before the first start of a server. Where their table is, nothing is migrated: that a command about
 * keys changes other tables is more than its caller asked for.
 */
async function requireTable(url: string) {
  const isThere = await ask(url, async (sql) => {
    const [row] = await sql`select to_regclass('api_key_version') is not null as yes`
    return row?.yes === true
  })
  if (!isThere) await migrate(url, MIGRATIONS)
}

async function ask<T>(url: string, question: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = connectOnce(url)
  return question(sql).finally(() => sql.end({ timeout: 0 }))
}

function orUnusable(error: Error): never {
  throw new CommandError(`the database cannot be used: ${error.message || String(error)}`)
}

/** What the driver reports has a code; an error without one is a fault of ours, whose stack is needed. */
function orFailed(error: Error & { code?: unknown }): never {
  if (error instanceof KeyRefused) throw new CommandError(error.message)
  if (typeof error.code === 'string') orUnusable(error)
  throw error
}
