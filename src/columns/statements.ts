import { columns } from '../compile/parts.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, name, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'

/**
 * The first `size` rows by their ids behind this one, one a line, in COPY's text format; null: from the first on. COPY takes
 * no parameters. PostgreSQL documentation, COPY, Text Format.
 */
export function compileRowsBehind(entity: Entity, id: string | null, size: number): Statement {
  const behind = id === null ? sql`` : sql`where id > ${integer(BigInt(id))}`
  return copyOf(entity, sql`${behind} order by id limit ${integer(size)}`)
}

/** The rows of these ids, with commas between them, in the same format. */
export function compileRowsOf(entity: Entity, ids: string): Statement {
  return copyOf(
    entity,
    sql`where id in (${join(
      ids.split(',').map((id) => integer(BigInt(id))),
      sql`, `,
    )})`,
  )
}

function copyOf(entity: Entity, which: Sql): Statement {
  return toStatement(sql`copy (select ${columns(entity)} from ${name(entity.table)} ${which}) to stdout`)
}

/**
 * The ids of the rows, `size` of them in each text, that a snapshot with this oldest transaction may not have seen as they
 * are now. Row versions that are older than 2^31 transactions may come too: they are as they were.
 */
export function compileIdsSince(entity: Entity, oldest: number, size: number): Statement {
  const age = sql`age('${integer(oldest % 2 ** 32)}'::xid)`
  const changed = sql`select id, row_number() over () as number from ${name(entity.table)} where age(xmin) <= ${age}`
  return toStatement(
    sql`select string_agg(id::text, ',') from (${changed}) as changed group by (number - 1) / ${integer(size)}`,
  )
}

/**
 * The snapshot of the transaction (PostgreSQL documentation, 9.28.7), and a name of the server's run and of the table's
 * collations. The run is another one after a start, a failover, and a recovery, which begins the statistics anew: only
 * within one run is no commit ever undone, and the order of texts, which comes from a library, the same.
 */
export function compileMoment(entity: Entity): Statement {
  const collations = sql`select string_agg(attcollation::text, ' ' order by attnum) from pg_attribute where attnum > 0 and attrelid = ${param(entity.table)}::regclass`
  return toStatement(sql`
    select pg_current_snapshot()::text,
      concat_ws(' ', pg_postmaster_start_time(), (select stats_reset from pg_stat_bgwriter), (${collations}))`)
}

export function compileCount(entity: Entity): Statement {
  return toStatement(sql`select count(*)::text from ${name(entity.table)}`)
}

/** How many rows the table has as the planner knows it, and how many bytes; -1 rows: it was never analyzed. */
export function compileSize(entity: Entity): Statement {
  return toStatement(sql`
    select reltuples::bigint::text, pg_relation_size(oid)::text from pg_class where oid = ${param(entity.table)}::regclass`)
}
