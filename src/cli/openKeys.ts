import type { Config } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { KeyRefused, KeyStore } from '../keys/store.ts'
import { DataDirInUse, startEmbedded } from '../postgres/embedded.ts'
import { migrate, migrationFolders } from '../postgres/migrate.ts'
import { runningPostgres } from '../postgres/postmaster.ts'
import { CommandError } from './run.ts'

/** How long a command waits for a server that is starting: its first start makes a cluster, which takes seconds. */
const START_MS_MAX = 30_000

/** Does `work` with the keys of the database that the settings name. @throws CommandError */
export async function withKeys<T>(config: Config, work: (store: KeyStore) => Promise<T>): Promise<T> {
  const database = await openDatabase(config).catch(orUnusable)
  try {
    await requireTable(database.url, config).catch(orUnusable)
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

/** The database that DATABASE_URL names, or that a server runs in DATA_DIR, or one that is started for the command. */
export async function openDatabase({ databaseUrl, databaseDirectUrl, dataDir }: Config): Promise<OpenDatabase> {
  if (databaseUrl) return { url: databaseDirectUrl ?? databaseUrl, close: leaveOpen }
  for (const giveUpMs = performance.now() + START_MS_MAX; ; await Bun.sleep(100)) {
    const own = await startOwn(dataDir).catch((error) => {
      if (!(error instanceof DataDirInUse)) throw error
      return null
    })
    if (own) return own
    const url = runningPostgres(dataDir)
    if (url && (await answers(url))) return { url, close: leaveOpen }
    if (performance.now() > giveUpMs) throw new Error(`the PostgreSQL in ${dataDir} is in use, and does not answer`)
  }
}

/** Not shared with other commands: it ends with this one, and their work would end with it. */
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
  return withConnection(url, async (sql) => (await sql`select 1`).length === 1).catch(() => false)
}

/**
 * Makes the tables where there are none, since keys can be made before a server's first start. Otherwise nothing is
 * migrated: a command about keys must not change other tables.
 */
async function requireTable(url: string, config: Config) {
  const isThere = await withConnection(url, async (sql) => {
    const [row] = await sql`select to_regclass('api_key_version') is not null as yes`
    return row?.yes === true
  })
  if (!isThere) for (const folder of migrationFolders(config)) await migrate(url, folder)
}

function orUnusable(error: Error): never {
  throw new CommandError(`the database cannot be used: ${error.message || String(error)}`)
}

/** Errors of the driver have a code; one without is a fault of ours, whose stack is needed. */
function orFailed(error: Error & { code?: unknown }): never {
  if (error instanceof KeyRefused) throw new CommandError(error.message)
  if (typeof error.code === 'string') orUnusable(error)
  throw error
}
