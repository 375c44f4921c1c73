import type postgres from 'postgres'

/** What is taken off a table before it is filled: building it after is faster than keeping it. */
export interface Structure {
  readonly indexes: readonly { readonly name: string; readonly definition: string }[]
  readonly foreignKeys: readonly { readonly table: string; readonly name: string; readonly definition: string }[]
}

/** Indexes that no constraint needs, and the foreign keys, as the catalog has them: a later migration's too. */
export async function readStructure(sql: postgres.ISql, tables: readonly string[]): Promise<Structure> {
  const indexes = await sql<Structure['indexes'][number][]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index
    where indrelid = any (${tables}::regclass[])
      and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
    order by indrelid, indexrelid`
  const foreignKeys = await sql<Structure['foreignKeys'][number][]>`
    select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and conrelid = any (${tables}::regclass[])
    order by conrelid, conname`
  return { indexes: [...indexes], foreignKeys: [...foreignKeys] }
}

export async function dropStructure(sql: postgres.ISql, { indexes, foreignKeys }: Structure): Promise<void> {
  for (const { table, name } of foreignKeys) await sql.unsafe(`alter table ${table} drop constraint "${name}"`)
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
}

/**
 * Builds what `dropStructure` has dropped, on as many connections as `sql` has. The foreign keys check each row: a copy
 * that is stale, or a reference to no row, is an error. `tell`: how many are built so far.
 */
export async function buildStructure(
  sql: postgres.Sql,
  { indexes, foreignKeys }: Structure,
  tell: (done: number) => void,
): Promise<void> {
  let done = 0
  const waiting = [...indexes]
  const build = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await sql.unsafe(next.definition)
      tell(++done)
    }
  }
  await Promise.all(Array.from({ length: sql.options.max }, build))
  for (const { table, name, definition } of foreignKeys) {
    await sql.unsafe(`alter table ${table} add constraint "${name}" ${definition}`)
    tell(++done)
  }
}
