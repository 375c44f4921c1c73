import { columns } from '../compile/columns.ts'
import type { Entity } from '../model/entity.ts'
import { integer, name, param, type Statement, sql, toStatement } from '../model/sql.ts'

/** All rows of the table by their ids, one a line, in COPY's text format. PostgreSQL documentation, COPY, Text Format. */
export function compileAllRows(entity: Entity): Statement {
  return toStatement(sql`copy (select ${columns(entity)} from ${name(entity.table)} order by id) to stdout`)
}

/**
 * The rows, in the same format, that a snapshot with this oldest transaction may not have seen as they are now. Row
 * versions that are older than 2^31 transactions may come too: they are as they were.
 */
export function compileRowsSince(entity: Entity, oldest: number): Statement {
  const age = sql`age('${integer(oldest % 2 ** 32)}'::xid)`
  return toStatement(
    sql`copy (select ${columns(entity)} from ${name(entity.table)} where age(xmin) <= ${age}) to stdout`,
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
