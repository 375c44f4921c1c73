// Findings about tables: rights, indexes, changes that are held back.
import type postgres from 'postgres'
import type { Entity } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import { OWN_TABLES } from '../registry.ts'
import { advice, type Finding, fault, ok } from './finding.ts'

export async function examineRights(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const own = entities.map(({ table }) => [table, 'select, insert, update, delete'] as const)
  const wanted = [...own, ...Object.entries(OWN_TABLES)].flatMap(([table, list]) =>
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

export async function examineIndexes(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const there = await sql<{ table: string; column: string }[]>`
    select c.relname as "table", a.attname as "column"
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = any (array(
      select to_regclass(quote_ident(name)) from json_array_elements_text(${JSON.stringify(entities.map(({ table }) => table))}::text::json) as name
    )) and i.indisvalid and i.indpred is null`
  const known = new Set(there.map(({ table, column }) => `${table}.${column}`))
  const commands = entities.flatMap(({ table, properties }) =>
    properties
      .filter(({ column, indexed }) => indexed && !known.has(`${table}.${column}`))
      .map(({ column }) => `create index on "${table}" ("${column}", id)`),
  )
  if (commands.length === 0) return ok('indexes', 'each property that sorts has its own')
  return fault('indexes', `missing or not valid: ${commands.join('; ')}`)
}

/** For what is shorter than that no operator has to do anything. */
const HELD_SECONDS = 60

/** Finds open transactions that delay the change feed, in any database of the cluster. D57 */
export async function examineHeldChanges(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const check = 'changes'
  const tables = JSON.stringify(entities.map(({ table }) => table))
  const [held] = await sql<{ since: string; pid: number | null; gid: string | null; database: string | null }[]>`
    with oldest as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as id),
      waiting as (
        select min(at) as since from entity_change
        where entity in (select json_array_elements_text(${tables}::text::json))
          and position >= (select id::text::bigint from oldest)
      )
    select to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since, activity.pid, prepared.gid,
      coalesce(activity.datname, prepared.database)::text as database
    from waiting cross join oldest
    left join pg_prepared_xacts as prepared on prepared.transaction = oldest.id::xid
    left join pg_locks as own on own.locktype = 'transactionid' and own.transactionid = oldest.id::xid
      and own.mode = 'ExclusiveLock' and own.granted
    left join pg_stat_activity as activity on activity.pid = own.pid
    where since < now() - make_interval(secs => ${HELD_SECONDS}::float8)`
  if (held === undefined) return ok(check, 'no transaction holds back what has changed')
  const { since, pid, gid, database } = held
  const text = `what has changed since ${since} is not shown, and posted, while`
  const place = `in database ${shown(database ?? '')} of the cluster`
  if (gid !== null) return advice(check, `${text} "${shown(gid)}" stays prepared ${place}: commit it, or roll it back, there`)
  if (pid === null) return advice(check, `${text} a transaction of the cluster is open: look again`)
  const remedy = `let it end, or select pg_terminate_backend(${pid})`
  return advice(check, `${text} a transaction of process ${pid} is open ${place}: ${remedy}`)
}
