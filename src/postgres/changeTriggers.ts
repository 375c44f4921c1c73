import { withConnection } from '../execute/connect.ts'

/** Whether servers keep lines of what changes, and of what those consist. D58 */
interface Kept {
  readonly isKept: boolean
  readonly hasValues: boolean
}

/**
 * Tells the triggers of tables what lines to write. Where lines were not kept before, or the database is another one, a new run of them
 * begins.
 */
export async function checkChanges(url: string, { isKept, hasValues }: Kept): Promise<void> {
  await withConnection(url, (sql) => sql`select check_changes(${isKept}, ${hasValues})`)
}

/** The triggers that `record_changes_of` makes of a table. */
const TRIGGERS = 5

/** Those of the tables whose triggers are missing, or do not fire for every session. */
export async function unrecordedTables(url: string, tables: readonly string[]): Promise<string[]> {
  const found = await withConnection(
    url,
    (sql) => sql<{ name: string }[]>`
      select name from json_array_elements_text(${JSON.stringify(tables)}::text::json) as name
      where ${TRIGGERS}::int > (
        select count(*) from pg_trigger join pg_proc on pg_proc.oid = tgfoid
        where tgrelid = to_regclass(quote_ident(name)) and tgenabled = 'A' and (proname = 'note_other_id' or proname ^@ 'record_')
      )
      order by name`,
  )
  return found.map(({ name }) => name)
}
