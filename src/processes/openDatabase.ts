// Opens the database at a start: runs migrations, checks tables and triggers, adds the sample, reads the secret of cursors.
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { withConnection } from '../execute/connect.ts'
import { parametersOf } from '../execute/driver.ts'
import { isAway } from '../execute/outcomes.ts'
import { KeyStore, readCursorSecret } from '../keys/store.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import type { KeyRecord } from '../model/key.ts'
import { checkChanges, loadSample, migrate, migrationFolders } from '../postgres/migrate.ts'
import { warnOfSuperuser } from '../postgres/rights.ts'
import { findMisfits } from '../rights/misfits.ts'
import type { Roles } from '../roles/roles.ts'
import { requireTables } from './requireTables.ts'
import { orDatabaseError, requireTls } from './startError.ts'

interface Opening {
  readonly config: Config
  readonly log: Log
  readonly entities: readonly Entity[]
  readonly roles: Roles | null
  readonly isEmbedded: boolean
}

/** The secret that signs cursors, or the reason why the database is unreachable. */
type Opened = { readonly reason: null; readonly cursorSecret: string } | { readonly reason: string; readonly cursorSecret: null }

/** Migrates the database, and reads the values that workers need. @throws StartError for a fault that an operator must fix */
export async function openDatabase(url: string, opening: Opening): Promise<Opened> {
  try {
    return { reason: null, cursorSecret: await prepare(url, opening) }
  } catch (error) {
    if (!isAway(error)) throw error
    await requireTls(url, errorOf(error))
    return { reason: errorOf(error).message, cursorSecret: null }
  }
}

async function prepare(url: string, { config, log, entities, roles, isEmbedded }: Opening): Promise<string> {
  for (const folder of migrationFolders(config)) await migrate(url, folder).catch(orDatabaseError)
  const isKept = config.changesDays > 0
  const tables = entities.map(({ table }) => table)
  const silent = await checkChanges(url, { isKept, hasValues: config.changesValues }, tables).catch(orDatabaseError)
  if (isKept && silent.length > 0)
    log.warn('changes of tables are not recorded: triggers are missing or disabled', { tables: silent.join(' ') })
  if (isEmbedded) await loadSample(url, config.demoData && config.entitiesDir === null)
  else await warnOfSuperuser(url, log)
  const secret = await readCursorSecret(url).catch(orDatabaseError)
  await withConnection(url, (sql) =>
    requireTables(entities, { read: (statement) => sql.unsafe(statement.text, parametersOf(statement)).values() as never }),
  ).catch(orDatabaseError)
  await withConnection(url, (sql) => new KeyStore(sql).valid()).then(
    (keys) => warnOfMisfits(keys, entities, roles, log),
    orDatabaseError,
  )
  return secret
}

/**
 * Logs the ids of keys whose rights do not fit the entities, and of keys whose block, such as `key payroll`, is missing in the
 * roles file. The reason is left out: it can contain values of the right, which must not get into the log.
 */
function warnOfMisfits(keys: readonly KeyRecord[], entities: readonly Entity[], roles: Roles | null, log: Log) {
  for (const { key } of findMisfits(keys, entities, roles))
    log.warn('the rights of a key do not fit the entities: it has none', { key: key.id })
}
