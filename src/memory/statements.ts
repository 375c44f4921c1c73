// SQL of copies: loads a table, and asks PostgreSQL which rows have changed since a snapshot.
import { commaList } from '../compile/batch.ts'
import { columns } from '../compile/parts.ts'
import type { Entity, Property } from '../model/entity.ts'
import { integer, name, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'

/** Maximum lines, and maximum rows, that a copy takes in while lists wait. While it takes in more, PostgreSQL finds the lists. */
export const CHANGES_MAX = 5_000

/** Compiles a COPY of the first `size` rows with greater ids; null: of the first ones. PostgreSQL documentation, COPY */
export function compileRowsBehind(entity: Entity, id: string | null, size: number): Statement {
  const behind = id === null ? sql`` : sql`where id > ${integer(BigInt(id))}`
  return toStatement(
    sql`copy (select ${columns(entity)} from ${name(entity.table)} ${behind} order by id limit ${integer(size)}) to stdout`,
  )
}

/** Compiles a sample: values of a property in `percent` of the table's blocks. */
export function compileSample({ table }: Entity, { column }: Property, percent: number): Statement {
  return toStatement(sql`select ${name(column)}::text from ${name(table)} tablesample system (${param(String(percent))}::real)`)
}

/**
 * Begins a run, where a crash, a failover or a restore has ended the one before; one of another cluster came with a dump, and is
 * known by transactions that are still to come. A transaction that was prepared before the run has lost its lines: no copy is
 * of the run while one that is older is open.
 */
export const BEGIN_RUN = `with foreign_lines as (delete from row_change where transaction >= pg_snapshot_xmax(pg_current_snapshot())) \
insert into row_change_run (kept_from) \
select case when exists (select from pg_prepared_xacts where database = current_database()) then pg_current_xact_id() \
else pg_snapshot_xmin(pg_current_snapshot()) end \
on conflict (is_only_row) do update set run = excluded.run, kept_from = excluded.kept_from \
where row_change_run.kept_from > pg_snapshot_xmax(pg_current_snapshot())`

const SNAPSHOT = sql`pg_current_snapshot()::text`
const KEPT_FROM = sql`(select kept_from::text from row_change_run)`

/** The relation that has the table's name. */
const named = ({ table }: Entity) => sql`to_regclass(${param(`"${table}"`)}::text)`

/**
 * Text that differs after a restart, a crash, a failover or a restore, if the table's name is that of another file or leads
 * nowhere, and if this role may read other rows or columns than the role that has loaded the table.
 */
function stateOf(entity: Entity, relation: Sql): Sql {
  const columnNames = commaList(entity.properties.map(({ column }) => word(column)))
  const mayRead = sql`has_table_privilege(${relation}, 'select') or may_read(${relation}, array[${columnNames}])`
  return sql`concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode(${named(entity)}), ${mayRead}, row_security_active(${relation}), (select run from row_change_run))`
}

/**
 * Text that differs if the table is defined anew: its columns, triggers, parents and children. Null if its lines of changes would
 * not tell of every write: a trigger is missing or disabled, writes to other tables reach it, its rows depend on who asks, a
 * subscription writes it, or the database is a standby.
 */
function definitionOf(relation: Sql): Sql {
  const recording = sql`select recording_of(${relation}::regclass) as signs`
  const attributes = sql`select string_agg(attnum || ' ' || xmin, ' ' order by attnum) from pg_attribute where attrelid = ${relation} and attnum > 0`
  const isAlone = sql`relkind = 'r' and not row_security_active(pg_class.oid) and not pg_is_in_recovery() and not exists (select from pg_inherits where ${relation} in (inhrelid, inhparent)) and not exists (select from pg_subscription_rel where srrelid = ${relation})`
  return sql`(select case when signs is not null and ${isAlone} then concat_ws(' ', pg_class.oid, signs, (${attributes})) end from pg_class cross join (${recording}) as recording where pg_class.oid = ${relation})`
}

/** Compiles a read of snapshot, relation, state, what is kept, definition, rows (-1: never analyzed) and bytes of the table. */
export function compileMoment(entity: Entity): Statement {
  const found = sql`select oid, reltuples from pg_class where oid = ${named(entity)}`
  return toStatement(
    sql`select ${SNAPSHOT}, oid::text, ${stateOf(entity, sql`found.oid`)}, ${KEPT_FROM}, ${definitionOf(sql`found.oid`)}, reltuples::bigint::text, pg_relation_size(oid)::text from (${found}) as found`,
  )
}

/** Compiles the question whether rows have changed that a snapshot has not seen; its answer has a newer snapshot. */
export function compileQuestion(entity: Entity, relation: string, snapshot: Snapshot, asksDefinition: boolean): Statement {
  const params = [param(relation), param(snapshot.next), param(snapshot.running)] as const
  const [own, next, running] = params
  const table = sql`${own}::oid`
  // By the end of the index whatever the planner believes of the table: a range would be a third of it.
  const newest = sql`(select transaction from row_change where relation = ${table} order by transaction desc limit 1)`
  const isChanged = sql`coalesce(${newest} >= ${next}::xid8, false) or exists (select from row_change where relation = ${table} and transaction = any (${running}::xid8[]))`
  const definition = asksDefinition ? sql`, ${definitionOf(table)}` : sql``
  return toStatement(
    sql`select ${SNAPSHOT}, ${stateOf(entity, table)}, ${KEPT_FROM}, (${isChanged})::int::text${definition}`,
    params,
  )
}

/**
 * Compiles a read of the changed rows as they are now, all of one snapshot. Each row of the result: the snapshot, state, what is
 * kept, whether the table has to be loaded anew, an id, and the entity's columns; of a row that is gone, nulls for these. Without
 * changes it is one row without an id.
 */
export function compileChangedRows(entity: Entity, relation: string, snapshot: Snapshot, changesMax: number): Statement {
  const most = integer(changesMax)
  const more = integer(changesMax + 1)
  const [own, next, running] = [param(relation), param(snapshot.next), param(snapshot.running)]
  const linesOf = (which: Sql) =>
    sql`(select ids from row_change where relation = ${own}::oid and transaction ${which} order by transaction desc limit ${more})`
  const lines = sql`${linesOf(sql`>= ${next}::xid8`)} union all ${linesOf(sql`= any (${running}::xid8[])`)}`
  // Row by row: a join would read the table whole, since the planner cannot know how few the ids are.
  return toStatement(
    sql`with "Lines" as materialized (${lines}), \
"Changed" as materialized (select distinct unnest(ids) as id from "Lines" limit ${more}), \
"Found" as materialized (select (select count(*) > ${most} or coalesce(bool_or(ids is null), false) from "Lines") or (select count(*) > ${most} from "Changed") as "IsWhole") \
select ${SNAPSHOT}, ${stateOf(entity, sql`${own}::oid`)}, ${KEPT_FROM}, "IsWhole"::int::text, "Changed".id::text, now_is.* \
from "Found" left join "Changed" on not "IsWhole" \
left join lateral (select ${columns(entity)} from ${name(entity.table)} as own where own.id = "Changed".id offset 0) as now_is on true`,
    [own, next, running],
  )
}

/** Which transactions a statement saw the work of. PostgreSQL documentation, 9.28.7, pg_snapshot. */
export class Snapshot {
  /** The first transaction that had not ended: the work of all before it was there, or was undone. */
  readonly oldest: number
  /** One past the last transaction that had ended, as PostgreSQL prints it. */
  readonly next: string
  /** Transactions that ran, as an array of PostgreSQL. */
  readonly running: string

  /** `text`: `xmin:xmax:xip,xip...`. Transactions have 64 bits; none comes near 2^53. */
  constructor(readonly text: string) {
    const [oldest = '', next = '', running = ''] = text.split(':')
    this.oldest = Number(oldest)
    this.next = next
    this.running = `{${running}}`
  }
}
