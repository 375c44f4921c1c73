// Opens the database for a command: the database of DATABASE_URL, or the embedded database, which is started if no server runs
// it.
import type postgres from 'postgres'
import { type Config, isPooled } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { HookStore } from '../hooks/store.ts'
import { KeyStore } from '../keys/store.ts'
import { DataDirInUse, startEmbedded } from '../postgres/embedded.ts'
import { migrate, migrationFolders } from '../postgres/migrate.ts'
import { runningPostgres } from '../postgres/postmaster.ts'
import { loadEntities } from '../registry.ts'
import { CommandError } from './run.ts'

/** Maximum time in ms that a command waits for a starting server. A first start takes seconds, because it creates the cluster. */
const START_MS_MAX = 30_000

/** Opens the database that the settings name, and calls `work` with its store of API keys and its URL. @throws CommandError */
export function withKeys<T>(config: Config, work: (store: KeyStore, url: string) => Promise<T>, mayMigrate = false): Promise<T> {
  return withTable(config, 'api_key_version', (sql, url) => work(new KeyStore(sql), url), mayMigrate)
}

/** Opens the database that the settings name, and calls `work` with its store of webhooks. @throws CommandError */
export async function withHooks<T>(config: Config, work: (store: HookStore) => Promise<T>, mayMigrate = false): Promise<T> {
  if (config.changesDays === 0)
    throw new CommandError('there are no hooks without what has changed: the setting CHANGES_DAYS is 0')
  if (isPooled(config) && config.databaseDirectUrl === null)
    throw new CommandError('servers post no hooks behind a pooler alone: set DATABASE_DIRECT_URL')
  const entities = await loadEntities(config.entitiesDir)
  return withTable(config, 'hook', (sql) => work(new HookStore(sql, entities)), mayMigrate)
}

async function withTable<T>(
  config: Config,
  table: string,
  work: (sql: postgres.Sql, url: string) => Promise<T>,
  mayMigrate: boolean,
): Promise<T> {
  await using database = await openDatabase(config).catch(orUnusable)
  await requireTable(database.url, table, config, mayMigrate).catch(orUnusable)
  return await withConnection(database.url, (sql) => work(sql, database.url)).catch(orFailed)
}

type OpenDatabase = AsyncDisposable & { readonly url: string }

const leaveOpen = async () => undefined

/**
 * Opens the database of DATABASE_URL. Without this setting, opens the embedded database in DATA_DIR, and starts it for the
 * command if no server runs it.
 */
export async function openDatabase({ databaseUrl, databaseDirectUrl, dataDir }: Config): Promise<OpenDatabase> {
  if (databaseUrl) return { url: databaseDirectUrl ?? databaseUrl, [Symbol.asyncDispose]: leaveOpen }
  for (const giveUpMs = performance.now() + START_MS_MAX; ; await Bun.sleep(100)) {
    const own = await startOwn(dataDir).catch((error) => {
      if (!(error instanceof DataDirInUse)) throw error
      return null
    })
    if (own) return own
    const url = runningPostgres(dataDir)
    const isThere = url && (await withConnection(url, async () => true).catch(() => false))
    if (isThere) return { url, [Symbol.asyncDispose]: leaveOpen }
    if (performance.now() > giveUpMs) throw new Error(`the PostgreSQL in ${dataDir} is in use, and does not answer`)
  }
}

/**
 * Starts the embedded database for this command only. It is not shared with other processes, because it stops when the command
 * ends.
 */
async function startOwn(dataDir: string): Promise<OpenDatabase> {
  const embedded = await startEmbedded({ dataDir, isShared: false })
  const abort = () => {
    embedded.kill()
    process.exit(1)
  }
  process.once('SIGINT', abort).once('SIGTERM', abort).once('SIGHUP', abort)
  return {
    url: embedded.url,
    async [Symbol.asyncDispose]() {
      await embedded.stop()
      process.off('SIGINT', abort).off('SIGTERM', abort).off('SIGHUP', abort)
    },
  }
}

/** Checks that the database has the table. `mayMigrate`: if the table is missing, applies all migrations. @throws CommandError */
export async function requireTable(url: string, table: string, config: Config, mayMigrate: boolean) {
  const [found] = await withConnection(url, (sql) => sql`select to_regclass(${table}) is not null as yes`)
  if (found?.yes) return
  if (!mayMigrate) throw new CommandError('it has no tables of Roster: start a server on it first')
  for (const folder of migrationFolders(config)) await migrate(url, folder)
}

/** Throws an error of the database as one line for people. @throws CommandError */
export function orUnusable(error: Error, problem = 'the database cannot be used', remark = ''): never {
  throw new CommandError(`${problem}: ${error.message || String(error)}${remark}`)
}

/** PostgreSQL's code for an unknown column. */
const LACKS_COLUMN = '42703'

/**
 * Throws an error of the driver, which has a code, as a CommandError for people. Throws any other error as it is: it is a
 * refusal, or a bug whose stack is needed.
 */
export function orFailed(error: Error & { code?: unknown }, problem?: string, remark?: string): never {
  if (error.code === LACKS_COLUMN)
    throw new CommandError(
      'the database is of an earlier version: apply the migrations by roster migrate, or start a server on it',
    )
  if (typeof error.code === 'string') orUnusable(error, problem, remark)
  throw error
}
