import { withConnection } from '../execute/connect.ts'

/** Content of lines of changes: none, without values, or with values. D58 */
interface Kept {
  readonly isKept: boolean
  readonly hasValues: boolean
}

/**
 * Passes the settings of lines to the triggers; begins a new run of lines where none were kept before, or the database is
 * another one. Returns those of `tables` whose triggers are missing, or do not fire in every session.
 */
export function checkChanges(url: string, { isKept, hasValues }: Kept, tables: readonly string[]): Promise<string[]> {
  return withConnection(url, async (sql) => {
    await sql`select check_changes(${isKept}, ${hasValues})`
    const unrecorded = await sql<{ name: string }[]>`
      select name from json_array_elements_text(${JSON.stringify(tables)}::text::json) as name
      where is_recorded(to_regclass(quote_ident(name))) is not true order by name`
    return unrecorded.map(({ name }) => name)
  })
}
