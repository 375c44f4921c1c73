// Migrations: applies the files of sql/ that a database lacks.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { inTransaction, withConnection } from '../execute/connect.ts'
import { classify, isAway } from '../execute/outcomes.ts'
import { APPLIED, BASELINE, requireAllBefore } from './baseline.ts'

/** Returns the folders of migrations, in the order in which they are applied. */
export function migrationFolders({ migrationsDir }: { readonly migrationsDir: string | null }): string[] {
  return migrationsDir === null ? [MIGRATIONS] : [MIGRATIONS, migrationsDir]
}

export function migrationNames(config: { readonly migrationsDir: string | null }): string[] {
  return migrationFolders(config).flatMap((folder) => readMigrations(folder).map(({ file }) => file))
}

export type Migration = ReturnType<typeof readMigrations>[number]

interface Applied {
  readonly file: string
  /** Checksum of the file; null for a baseline that was not applied, because the database has the earlier migrations. */
  readonly checksum: string | null
}

export const MIGRATIONS = join(import.meta.dir, '../../sql')
/** Advisory lock of migrations; an arbitrary number that no other program is likely to use. */
const LOCK = 7_067_837_101

/**
 * Applies the missing files of `folder` in the order of their names, in one transaction. If several processes start at once, one
 * of them applies the files and the others wait. Returns the applied files. @throws Error that names an applied file that was
 * edited, or a missing file that is out of order
 */
export function migrate(url: string, folder: string): Promise<string[]> {
  return withConnection(url, (sql) => inTransaction(sql, (transaction) => applyPending(transaction, folder)))
}

/** Applies migrations in the caller's transaction, which the caller can roll back. */
export async function applyPending(transaction: postgres.ISql, folder: string): Promise<string[]> {
  const migrations = readMigrations(folder)
  await requireUtf8(transaction)
  // With a pooler, the role has a time limit for statements of requests (docs/operations/databases.md, "Poolers"). Migrations may
  // take longer.
  await transaction`set local statement_timeout = 0`
  await transaction`select pg_advisory_xact_lock(${String(LOCK)}::bigint)`
  await transaction`set local lock_timeout = '60s'`
  const applied = await appliedMigrations(transaction)
  // The table is created only if it is missing, so that a role without the right to create tables can start on a complete schema.
  if (applied === null)
    await transaction`
        create table migration (
          file text primary key,
          checksum text not null,
          applied timestamptz not null default now()
        )`
  const pending = pendingOf(migrations, applied ?? [])
  for (const { file, checksum, text } of pending) {
    await transaction.unsafe(text).catch((error) => {
      // If PostgreSQL cannot run the statement, the cause is left out, because its code would make the server retry for ever. If
      // the connection failed, the cause stays, so that the server retries.
      const isLost = ['lost', 'notSent'].includes(classify(error))
      throw new Error(`${file} failed: ${error.message}`, isAway(error) && !isLost ? {} : { cause: error })
    })
    await transaction`insert into migration (file, checksum) values (${file}, ${checksum})`
    // Trigger functions name columns, so they are written again after each migration. Before an early migration has created
    // `write_recorders`, there are no such functions.
    const [recorders] = await transaction`select to_regproc('write_recorders') is not null as yes`
    if (recorders?.yes) await transaction`select write_recorders()`
  }
  return pending.map(({ file }) => file)
}

/** Returns the applied migrations; null if the database has never been migrated. */
export async function appliedMigrations(sql: postgres.ISql): Promise<Applied[] | null> {
  const [there] = await sql`select to_regclass('migration') is not null as yes`
  return there?.yes ? sql.unsafe<Applied[]>(APPLIED.text) : null
}

/** Requires that the database is encoded in UTF8. @throws Error that names its encoding */
async function requireUtf8(sql: postgres.ISql) {
  const [row] = await sql`select current_setting('server_encoding') as encoding`
  if (row?.encoding !== 'UTF8') throw new Error(`the database must be encoded in UTF8, not in ${row?.encoding}`)
}

/** Reads the migrations of a folder; names have four digits, an underscore, and a subject. */
export function readMigrations(folder: string) {
  let files: string[]
  try {
    files = readdirSync(folder).filter((file) => /^\d.*\.sql$/.test(file))
  } catch (error) {
    // The error has no code, because a code of the file system would look like that of an unreachable database.
    throw new Error(`the migrations of ${folder} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  const misnamed = files.find((file) => !/^\d{4}_\w+\.sql$/.test(file))
  if (misnamed) throw new Error(`${misnamed} needs a name like 1002_add_notes.sql: four digits, _, letters, digits and _`)
  return files.sort().map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return { file, text, checksum: createHash('sha256').update(text).digest('hex') }
  })
}

/**
 * Returns the migrations that must be applied. @throws Error that names an applied file that was edited, or a missing file that
 * is out of order
 */
export function pendingOf(migrations: Migration[], applied: readonly Applied[]): Migration[] {
  if (migrations.some(({ file }) => file === BASELINE)) requireAllBefore(applied.map(({ file }) => file))
  const checksums = new Map(applied.map(({ file, checksum }) => [file, checksum]))
  const edited = migrations.find(({ file, checksum }) => (checksums.get(file) ?? checksum) !== checksum)
  if (edited) throw new Error(`${edited.file} was edited after it had been applied: undo that, and add a new file instead`)
  const pending = migrations.filter(({ file }) => !checksums.has(file))
  // A newer version may have applied files that are unknown here; the known files must still be in order.
  const last = migrations.findLast(({ file }) => checksums.has(file))
  const late = pending.find(({ file }) => last && file < last.file)
  if (late) throw new Error(`${late.file} comes before ${last?.file}, which is applied already: give it a later number`)
  return pending
}

/** Returns the files of `folder` that `migrate` would apply; writes nothing. @throws Error as `migrate` */
export async function pendingMigrations(url: string, folder: string): Promise<string[]> {
  const readPending = async (transaction: postgres.ISql) => {
    await requireUtf8(transaction)
    return pendingOf(readMigrations(folder), (await appliedMigrations(transaction)) ?? []).map(({ file }) => file)
  }
  return withConnection(url, (sql) => inTransaction(sql, readPending, 'read only'))
}

const SAMPLE = 'sample.sql'

/**
 * Loads the sample into an empty database, at most once in the life of the database. `isWanted`: if false, notes that the sample
 * must never be loaded.
 */
export async function loadSample(url: string, isWanted: boolean): Promise<void> {
  await withConnection(url, (sql) =>
    inTransaction(sql, async (transaction) => {
      const noted = await transaction`
        insert into migration (file, checksum) values (${SAMPLE}, '') on conflict do nothing returning file`
      if (noted.length === 0 || !isWanted) return
      const [rows] = await transaction`
        select exists (select from company) or exists (select from employee) or exists (select from absence) as there`
      if (rows?.there) return
      // Triggers do not record the changes of a session with this application name.
      await transaction`set local application_name = 'roster sample'`
      await transaction.unsafe(readFileSync(join(MIGRATIONS, SAMPLE), 'utf8'))
    }),
  )
}

/**
 * Passes the settings of the change feed to the triggers. Deletes the events if they come from another database, or shall no
 * longer be kept; then earlier tokens are refused. Returns the tables whose changes are perhaps not recorded, because a trigger
 * is missing or disabled.
 */
export function checkChanges(
  url: string,
  { isKept, hasValues }: Record<'isKept' | 'hasValues', boolean>,
  tables: readonly string[],
): Promise<string[]> {
  return withConnection(url, (sql) =>
    inTransaction(sql, async (transaction) => {
      // check_changes may delete all events, which can take longer than the role's limit for a statement.
      await transaction`set local statement_timeout = 0`
      await transaction`select check_changes(${isKept}, ${hasValues})`
      const unrecorded = await transaction<{ name: string }[]>`
        select name from json_array_elements_text(${JSON.stringify(tables)}::text::json) as name
        where is_recorded(to_regclass(quote_ident(name))) is not true order by name`
      return unrecorded.map(({ name }) => name)
    }),
  )
}
