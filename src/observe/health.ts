import type { Database } from '../execute/database.ts'
import { sql, toStatement } from '../model/sql.ts'

/** SQLSTATE of a table that is not there: nothing was ever migrated. */
const UNDEFINED_TABLE = '42P01'

const APPLIED = toStatement(sql`select file from migration`)

/** Whether requests can be served: the database answers and has every migration of `files`. @throws ApiError 503 */
export async function isReady(database: Database, files: readonly string[]): Promise<boolean> {
  const rows = await database.read(APPLIED).catch((error) => {
    if (error?.code === UNDEFINED_TABLE) return []
    throw error
  })
  const applied = new Set(rows.map(([file]) => file))
  return files.every((file) => applied.has(file))
}
