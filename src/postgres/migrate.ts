// Migrations: applies the files of sql/ that a database lacks.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { inTransaction, withConnection } from '../execute/connect.ts'
import { classify, isAway } from '../execute/outcomes.ts'
import { APPLIED, BASELINE, requireAllBefore } from './baseline.ts'

/** The folders whose migrations a database has, in the order in which they are applied. */
export function migrationFolders({ migrationsDir }: { readonly migrationsDir: string | null }): string[] {
  return migrationsDir === null ? [MIGRATIONS] : [MIGRATIONS, migrationsDir]
}

export function migrationNames(config: { readonly migrationsDir: string | null }): string[] {
  return migrationFolders(config).flatMap((folder) => readMigrations(folder).map(({ file }) => file))
}

export type Migration = ReturnType<typeof readMigrations>[number]

interface Applied {
  readonly file: string
  /** Null: single migrations stand for it. */
  readonly checksum: string | null
}

export const MIGRATIONS = join(import.meta.dir, '../../sql')
/** Any number that no other program on the database is likely to lock. */
const LOCK = 7_067_837_101

/**
 * Applies the files of `folder` that the database does not have yet, in the order of their names, in one transaction.
 * Where several processes start at once, one does the work and the others wait for it. Returns the files applied.
 * @throws Error as `pendingOf` does
 */
export function migrate(url: string, folder: string): Promise<string[]> {
  return withConnection(url, (sql) => inTransaction(sql, (transaction) => applyPending(transaction, folder)))
}

/** Applies migrations in a transaction of the caller, who may undo it. */
export async function applyPending(transaction: postgres.ISql, folder: string): Promise<string[]> {
  const migrations = readMigrations(folder)
  await requireUtf8(transaction)
  // A role behind a pooler has a time limit for the requests of a server (docs/operations/databases.md, "Poolers").
  await transaction`set local statement_timeout = 0`
  await transaction`select pg_advisory_xact_lock(${String(LOCK)}::bigint)`
  await transaction`set local lock_timeout = '60s'`
  const applied = await appliedMigrations(transaction)
  // Only then, so that a role without the right to create can start once all is there.
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
      // Without a cause that looks like that of a database which is away: the server would try again for ever.
      const isLost = ['lost', 'notSent'].includes(classify(error))
      throw new Error(`${file} failed: ${error.message}`, isAway(error) && !isLost ? {} : { cause: error })
    })
    await transaction`insert into migration (file, checksum) values (${file}, ${checksum})`
    // The functions of triggers name the columns of their tables. A database without the baseline has none.
    const [recorders] = await transaction`select to_regproc('write_recorders') is not null as yes`
    if (recorders?.yes) await transaction`select write_recorders()`
  }
  return pending.map(({ file }) => file)
}

/** The migrations that a database has; null: it has never had one. */
export async function appliedMigrations(sql: postgres.ISql): Promise<Applied[] | null> {
  const [there] = await sql`select to_regclass('migration') is not null as yes`
  return there?.yes ? sql.unsafe<Applied[]>(APPLIED.text) : null
}

/** @throws Error that names the encoding there is */
async function requireUtf8(sql: postgres.ISql) {
  const [row] = await sql`select current_setting('server_encoding') as encoding`
  if (row?.encoding !== 'UTF8') throw new Error(`the database must be encoded in UTF8, not in ${row?.encoding}`)
}

/** The migrations of a folder, by their names: four digits, an underscore, what the file is about. */
export function readMigrations(folder: string) {
  let files: string[]
  try {
    files = readdirSync(folder).filter((file) => /^\d.*\.sql$/.test(file))
  } catch (error) {
    // Without a code, which would be that of a database that is away.
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
 * The migrations that are not applied yet.
 * @throws Error that names an applied file that has been edited or is out of order, or says how a database that is older than the
 * baseline is upgraded
 */
export function pendingOf(migrations: Migration[], applied: readonly Applied[]): Migration[] {
  if (migrations.some(({ file }) => file === BASELINE)) requireAllBefore(applied.map(({ file }) => file))
  const checksums = new Map(applied.map(({ file, checksum }) => [file, checksum]))
  const edited = migrations.find(({ file, checksum }) => (checksums.get(file) ?? checksum) !== checksum)
  if (edited) throw new Error(`${edited.file} was edited after it had been applied: undo that, and add a new file instead`)
  const pending = migrations.filter(({ file }) => !checksums.has(file))
  // A database that a newer version has migrated may have files that we do not know; ours must still be in order.
  const last = migrations.findLast(({ file }) => checksums.has(file))
  const late = pending.find(({ file }) => last && file < last.file)
  if (late) throw new Error(`${late.file} comes before ${last?.file}, which is applied already: give it a later number`)
  return pending
}

/** The files of `folder` that `migrate` would apply. @throws Error as it does, and writes nothing */
export async function pendingMigrations(url: string, folder: string): Promise<string[]> {
  const look = async (transaction: postgres.ISql) => {
    await requireUtf8(transaction)
    return pendingOf(readMigrations(folder), (await appliedMigrations(transaction)) ?? []).map(({ file }) => file)
  }
  return withConnection(url, (sql) => inTransaction(sql, look, 'read only'))
}

const SAMPLE = 'sample.sql'

/** Loads the sample into a database without rows, once in its life; `wanted` false: only notes that it shall never be loaded. */
export async function loadSample(url: string, wanted: boolean): Promise<void> {
  await withConnection(url, (sql) =>
    inTransaction(sql, async (transaction) => {
      const noted = await transaction`
        insert into migration (file, checksum) values (${SAMPLE}, '') on conflict do nothing returning file`
      if (noted.length === 0 || !wanted) return
      const [rows] = await transaction`
        select exists (select from company) or exists (select from employee) or exists (select from absence) as there`
      if (rows?.there) return
      // Triggers record no changes of sessions of this name.
      await transaction`set local application_name = 'roster sample'`
      await transaction.unsafe(readFileSync(join(MIGRATIONS, SAMPLE), 'utf8'))
    }),
  )
}

/** Passes the settings of lines to the triggers; may begin a new run. Returns the `tables` whose triggers do not always fire. */
export function checkChanges(
  url: string,
  { isKept, hasValues }: Record<'isKept' | 'hasValues', boolean>,
  tables: readonly string[],
): Promise<string[]> {
  return withConnection(url, (sql) =>
    inTransaction(sql, async (transaction) => {
      // check_changes may delete all events, which takes longer than a role may allow a statement.
      await transaction`set local statement_timeout = 0`
      await transaction`select check_changes(${isKept}, ${hasValues})`
      const unrecorded = await transaction<{ name: string }[]>`
        select name from json_array_elements_text(${JSON.stringify(tables)}::text::json) as name
        where is_recorded(to_regclass(quote_ident(name))) is not true order by name`
      return unrecorded.map(({ name }) => name)
    }),
  )
}
