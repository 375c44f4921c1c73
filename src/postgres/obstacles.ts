import type postgres from 'postgres'
import type { Part, Quote } from './declaredTable.ts'
import type { FoundTable } from './tableCatalog.ts'

/** What is demanded of the rows of a table from now on: a constraint, or that a column has a value. */
export interface Demand extends Part {
  readonly kind: 'constraint' | 'not null'
  /** The columns that it is about. */
  readonly columns: readonly string[]
}

/** More rows are not counted. */
const ROWS_MAX = 1_000

/** A sentence for each demand that rows stand in the way of, since the migration would fail there. Rows are read, and nothing is locked. */
export async function findObstacles(
  sql: postgres.TransactionSql,
  table: string,
  { columns }: FoundTable,
  demands: readonly Demand[],
  quote: Quote,
): Promise<string[]> {
  const remarks: string[] = []
  for (const demand of demands) {
    const condition = conditionOf(demand, quote(table), quote, (name) => columns.has(name))
    if (condition === null) continue
    const [row] = await sql.unsafe(
      `select count(*)::int as rows from (select from ${quote(table)} ${condition} limit ${ROWS_MAX + 1}) as found`,
    )
    const rows = row?.rows as number
    if (rows > 0)
      remarks.push(
        `${table}: ${rows > ROWS_MAX ? `more than ${ROWS_MAX}` : rows} ${rows === 1 ? 'row has' : 'rows have'} no value that "${demand.kind === 'constraint' ? demand.name : `${demand.name} not null`}" allows: give them one in the file, before that line, or the start fails.`,
      )
  }
  return remarks
}

/** The rows that are in the way; null: there can be none, since the column is new. */
function conditionOf(
  { kind, name, text, columns }: Demand,
  table: string,
  quote: Quote,
  isThere: (name: string) => boolean,
): string | null {
  if (kind === 'not null') return isThere(name) ? `where ${quote(name)} is null` : ''
  const [first = ''] = columns
  const [, referred] = /^foreign key \([^)]*\)\s+references (\S+) /.exec(text) ?? []
  if (referred !== undefined)
    return isThere(first)
      ? `as own where own.${quote(first)} is not null and not exists (select from ${referred} as other where other.id = own.${quote(first)})`
      : null
  if (!columns.every(isThere)) return null
  if (text.startsWith('check ')) return `where not ${text.slice('check '.length)}`
  if (!text.startsWith('unique ')) return null
  return `where ${quote(first)} in (select ${quote(first)} from ${table} group by 1 having count(*) > 1)`
}
