import type postgres from 'postgres'

/** A column in the catalog; null: it has nothing of the kind. */
interface FoundColumn {
  readonly name: string
  readonly type: string
  readonly collation: string | null
  readonly required: boolean
  /** `identity`, or the expression behind `default`, or that behind `generated`. */
  readonly identity: boolean
  readonly fallback: string | null
  readonly made: string | null
}

/** A table as the catalog has it: by names, what differs where tables differ. */
export interface FoundTable {
  readonly columns: ReadonlyMap<string, FoundColumn>
  /** Their definitions. */
  readonly constraints: ReadonlyMap<string, string>
  /** Definitions of indexes, with their conditions, except those of constraints: `(name, id)`. */
  readonly indexes: ReadonlyMap<string, string>
  /** True if it tells servers of its changes. */
  readonly isRecorded: boolean
}

/** Reads tables of the first schema of the search path; missing tables are left out. */
export async function readTables(sql: postgres.ISql, tables: readonly string[]): Promise<Map<string, FoundTable>> {
  const found = new Map<string, FoundTable>()
  for (const table of tables) {
    const [row] = await sql`
      select c.oid::int8::text as oid from pg_class c
      where c.relname = ${table} and c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace`
    if (row) found.set(table, await readTable(sql, row.oid))
  }
  return found
}

async function readTable(sql: postgres.ISql, oid: string): Promise<FoundTable> {
  const columns = await sql<(FoundColumn & postgres.Row)[]>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, c.collname as collation,
      a.attnotnull as required, a.attidentity <> '' as identity,
      case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end as fallback,
      case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end as made
    from pg_attribute a
    left join pg_collation c on c.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${oid}::int8::oid and a.attnum > 0 and not a.attisdropped
    order by a.attnum`
  const constraints = await sql`
    select conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where conrelid = ${oid}::int8::oid and contype in ('p', 'u', 'c', 'f')
    order by conname`
  const indexes = await sql`
    select c.relname as name, substring(pg_get_indexdef(c.oid) from ' USING (.*)$') as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${oid}::int8::oid and i.indisvalid
      and not exists (select from pg_constraint where conindid = c.oid and conrelid = i.indrelid)
    order by c.relname`
  const [recorded] = await sql`select is_recorded(${oid}::int8::oid::regclass) as yes`
  return {
    columns: new Map(columns.map((column) => [column.name, { ...column }])),
    constraints: new Map(constraints.map(({ name, definition }) => [name, definition])),
    indexes: new Map(indexes.map(({ name, definition }) => [name, definition])),
    isRecorded: recorded?.yes === true,
  }
}
