import type postgres from 'postgres'
import type { Entity } from '../model/entity.ts'
import { type Finding, fault, ok } from './finding.ts'

/** Tables beside those of the entities, and what a server does with them. */
export const OTHERS: Readonly<Record<string, string>> = {
  migration: 'select',
  cursor_secret: 'select',
  change_listener: 'select, insert, update, delete',
  idempotency_key: 'select, insert, update, delete',
  entity_change: 'select, insert, delete',
  change_feed: 'select, update',
  hook: 'select, insert, update, delete',
  hook_sender: 'select, update',
  api_key: 'select, insert, update',
  api_key_version: 'select, update',
}

/** Whether the role has its rights, and each sorted property its index. */
export async function examineTables(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding[]> {
  return [await rights(sql, entities), await indexes(sql, entities)]
}

async function rights(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const own = entities.map(({ table }) => [table, 'select, insert, update, delete'] as const)
  const wanted = [...own, ...Object.entries(OTHERS)].flatMap(([table, list]) =>
    list.split(', ').map((right) => ({ table, right })),
  )
  const lacking = await sql<{ table: string; right: string }[]>`
    select wanted."table", wanted."right" from json_to_recordset(${JSON.stringify(wanted)}::text::json) as wanted ("table" text, "right" text)
    where to_regclass(quote_ident(wanted."table")) is null
      or not has_table_privilege(to_regclass(quote_ident(wanted."table")), wanted."right")`
  if (lacking.length === 0) return ok('rights', 'the role may read and write the tables')
  const grants = [...Map.groupBy(lacking, ({ table }) => table)]
    .map(([table, own]) => `${own.map(({ right }) => right).join(', ')} on ${table}`)
    .join('; ')
  return fault('rights', `the role lacks ${grants}: grant that (docs/operations.md, "Your own")`)
}

async function indexes(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const there = await sql<{ table: string; column: string }[]>`
    select c.relname as "table", a.attname as "column"
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = any (array(
      select to_regclass(quote_ident(name)) from json_array_elements_text(${JSON.stringify(entities.map(({ table }) => table))}::text::json) as name
    )) and i.indisvalid and i.indpred is null`
  const known = new Set(there.map(({ table, column }) => `${table}.${column}`))
  const missing = entities.flatMap(({ table, properties }) =>
    properties
      .filter(({ column, indexed }) => indexed && !known.has(`${table}.${column}`))
      .map(({ column }) => ({ table, column })),
  )
  if (missing.length === 0) return ok('indexes', 'each property that sorts has its own')
  const commands = missing.map(({ table, column }) => `create index on "${table}" ("${column}", id)`)
  return fault('indexes', `missing or not valid: ${commands.join('; ')}`)
}
