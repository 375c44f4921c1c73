// Reads the distinct texts of a column in its order, as a copy of a table does.
import type postgres from 'postgres'
import type { ReadOrder } from '../../src/columns/textRanks.ts'

export function textStream(sql: postgres.Sql, table: string, column: string): ReadOrder {
  return async (take) => {
    const name = sql(column)
    const rows = await sql`select distinct ${name} as text from ${sql(table)} where ${name} is not null order by ${name}`.values()
    for (const [text] of rows) take(text)
  }
}
