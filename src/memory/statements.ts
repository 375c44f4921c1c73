// SQL of copies: loads a table, and asks PostgreSQL which rows have changed since a snapshot.
import { commaList } from '../compile/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { integer, name, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'

/**
 * Maximum number of changed rows, and of lines of `row_change`, that a copy applies while lists wait. With more, PostgreSQL
 * answers the lists until the copy has caught up.
 */
export const CHANGES_MAX = 5_000

/**
 * Returns the columns of a copy, in the order of the entity's properties. For a JSON property, the copy only has whether there is
 * a value.
 */
export function copiedColumns({ properties }: Entity): Sql {
  return commaList(
    properties.map(({ column, kind }) =>
      kind.memory === 'presence' ? sql`nullif(${name(column)} is not null, false) as ${name(column)}` : name(column),
    ),
  )
}

/**
 * Compiles a COPY of the first `size` rows after an id. `id`: null for the first rows of the table. PostgreSQL documentation,
 * COPY
 */
export function compileRowsAfter(entity: Entity, id: string | null, size: number): Statement {
  const after = id === null ? sql`` : sql`where id > ${integer(BigInt(id))}`
  return toStatement(
    sql`copy (select ${copiedColumns(entity)} from ${name(entity.table)} ${after} order by id limit ${integer(size)}) to stdout`,
  )
}

/**
 * Compiles the declaration of `texts`, a cursor over the distinct texts of a property, in the order of the column's collation.
 */
export function compileTextOrder({ table }: Entity, { column }: Property): Statement {
  const own = name(column)
  const ordered = sql`select distinct ${own} from ${name(table)} where ${own} is not null order by ${own}`
  return toStatement(sql`declare texts no scroll cursor for ${ordered}`)
}

/**
 * Begins a new run of change lines if a crash, a failover or a restore has ended the last run. Lines with transaction numbers
 * that this cluster has not assigned yet come from a dump of another cluster, and are deleted. A transaction that was prepared
 * before the run has lost its lines, so copies must not be loaded until this transaction has ended.
 */
export const BEGIN_RUN = `with foreign_lines as (delete from row_change where transaction >= pg_snapshot_xmax(pg_current_snapshot())) \
insert into row_change_run (kept_from) \
select case when exists (select from pg_prepared_xacts where database = current_database()) then pg_current_xact_id() \
else pg_snapshot_xmin(pg_current_snapshot()) end \
on conflict (is_only_row) do update set run = excluded.run, kept_from = excluded.kept_from \
where row_change_run.kept_from > pg_snapshot_xmax(pg_current_snapshot())`

export const SNAPSHOT = sql`pg_current_snapshot()::text`
export const KEPT_FROM = sql`(select kept_from::text from row_change_run)`

/** Returns SQL of the table that has the entity's name. Its value is null if there is no such table. */
const relationOf = ({ table }: Entity) => sql`to_regclass(${param(`"${table}"`)}::text)`

/**
 * Returns SQL of a text that changes in three cases: PostgreSQL restarts, crashes, fails over or is restored; the table is
 * replaced or dropped; or this role loses the right to read all rows and columns of the table. `named`: the table that has the
 * entity's name now.
 */
export function stateOf(relation: Sql, named: Sql, columnNames: Sql): Sql {
  const mayRead = sql`has_table_privilege(${relation}, 'select') or may_read(${relation}, ${columnNames})`
  return sql`concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode(${named}), ${mayRead}, row_security_active(${relation}), (select run from row_change_run))`
}

function stateOfEntity(entity: Entity, relation: Sql): Sql {
  const columnNames = commaList(entity.properties.map(({ column }) => word(column)))
  return stateOf(relation, relationOf(entity), sql`array[${columnNames}]`)
}

/**
 * Returns SQL of a text that changes with the table's definition: its columns, triggers, parents and children. The text is null
 * if the table's change lines would miss writes: a trigger is missing or disabled, the table has parents or children, its rows
 * depend on the role, a subscription writes it, or the database is a standby.
 */
export function definitionOf(relation: Sql): Sql {
  const recording = sql`select recording_of(${relation}::regclass) as signs`
  const attributes = sql`select string_agg(attnum || ' ' || xmin, ' ' order by attnum) from pg_attribute where attrelid = ${relation} and attnum > 0`
  const hasAllWrites = sql`relkind = 'r' and not row_security_active(pg_class.oid) and not pg_is_in_recovery() and not exists (select from pg_inherits where ${relation} in (inhrelid, inhparent)) and not exists (select from pg_subscription_rel where srrelid = ${relation})`
  return sql`(select case when signs is not null and ${hasAllWrites} then concat_ws(' ', pg_class.oid, signs, (${attributes})) end from pg_class cross join (${recording}) as recording where pg_class.oid = ${relation})`
}

/**
 * Compiles a read of the table's state. Columns: snapshot, number of the table in `pg_class`, state, transaction from which
 * change lines are kept, definition.
 */
export function compileLoadedState(entity: Entity): Statement {
  const found = sql`select oid from pg_class where oid = ${relationOf(entity)}`
  return toStatement(
    sql`select ${SNAPSHOT}, oid::text, ${stateOfEntity(entity, sql`found.oid`)}, ${KEPT_FROM}, ${definitionOf(sql`found.oid`)} from (${found}) as found`,
  )
}

/** Compiles a count of a table's rows that stops at `most`. */
export function compileRowCount({ table }: Entity, most: number): Statement {
  return toStatement(sql`select count(*)::text from (select from ${name(table)} limit ${integer(most)}) as counted`)
}

/** Compiles the question whether rows have changed since a snapshot. The answer has a newer snapshot. */
export function compileQuestion(entity: Entity, relation: string, snapshot: Snapshot, asksDefinition: boolean): Statement {
  const { withDefinition, withoutDefinition } = questionsOf(entity)
  const { text, others } = asksDefinition ? withDefinition : withoutDefinition
  return { text, values: [relation, snapshot.next, snapshot.running, ...others] }
}

/**
 * Texts of the questions about a table. They are compiled once, because compiling them for each list would slow down the lists
 * whose responses are cached.
 */
const questionsOf = memoize((entity: Entity) => ({
  withDefinition: compileQuestionText(entity, true),
  withoutDefinition: compileQuestionText(entity, false),
}))

/** Compiles the text of a question. `others`: values of all parameters after those of the table and the snapshot. */
function compileQuestionText(entity: Entity, asksDefinition: boolean) {
  const params = [param(null), param(null), param(null)] as const
  const [own, next, running] = params
  const table = sql`${own}::oid`
  // With `limit 1`, PostgreSQL reads one entry at the end of the index, whatever the planner estimates. For a range of
  // transactions, the planner would assume that a third of the table matches.
  const newest = sql`(select transaction from row_change where relation = ${table} order by transaction desc limit 1)`
  const isChanged = sql`coalesce(${newest} >= ${next}::xid8, false) or exists (select from row_change where relation = ${table} and transaction = any (${running}::xid8[]))`
  const definition = asksDefinition ? sql`, ${definitionOf(table)}` : sql``
  const { text, values } = toStatement(
    sql`select ${SNAPSHOT}, ${stateOfEntity(entity, table)}, ${KEPT_FROM}, (${isChanged})::int::text${definition}`,
    params,
  )
  return { text, others: values.slice(params.length) }
}

/**
 * Compiles a read of the changed rows as they are now, in one snapshot. Columns: snapshot, state, transaction from which change
 * lines are kept, whether the table must be loaded again, id, and the entity's columns, which are null if the row was deleted. If
 * no row has changed, the result is one row without an id.
 */
export function compileChangedRows(entity: Entity, relation: string, snapshot: Snapshot, changesMax: number): Statement {
  const limit = integer(changesMax)
  const more = integer(changesMax + 1)
  const own = param(relation)
  const next = param(snapshot.next)
  const running = param(snapshot.running)
  const linesOf = (which: Sql) =>
    sql`(select ids from row_change where relation = ${own}::oid and transaction ${which} order by transaction desc limit ${more})`
  const lines = sql`${linesOf(sql`>= ${next}::xid8`)} union all ${linesOf(sql`= any (${running}::xid8[])`)}`
  // Looks up the rows one by one. For a join PostgreSQL would read the whole table, because it cannot know how few ids there are.
  return toStatement(
    sql`with "Lines" as materialized (${lines}), \
"Changed" as materialized (select distinct unnest(ids) as id from "Lines" limit ${more}), \
"Found" as materialized (select (select count(*) > ${limit} or coalesce(bool_or(ids is null), false) from "Lines") or (select count(*) > ${limit} from "Changed") as "IsWhole") \
select ${SNAPSHOT}, ${stateOfEntity(entity, sql`${own}::oid`)}, ${KEPT_FROM}, "IsWhole"::int::text, "Changed".id::text, now_is.* \
from "Found" left join "Changed" on not "IsWhole" \
left join lateral (select ${copiedColumns(entity)} from ${name(entity.table)} as own where own.id = "Changed".id offset 0) as now_is on true`,
    [own, next, running],
  )
}

/** A snapshot: which transactions a statement sees. PostgreSQL documentation, 9.28.7, pg_snapshot. */
export class Snapshot {
  /** The oldest transaction that was still running. All earlier transactions had ended. */
  readonly oldest: number
  /** The first transaction number that was not assigned yet, as PostgreSQL prints the number. */
  readonly next: string
  /** Array of the transactions that were running, as PostgreSQL writes arrays. */
  readonly running: string

  /** `text`: `xmin:xmax:xip,xip...`. Transaction numbers have 64 bits, but no number comes near 2^53. */
  constructor(readonly text: string) {
    const [oldest = '', next = '', running = ''] = text.split(':')
    this.oldest = Number(oldest)
    this.next = next
    this.running = `{${running}}`
  }
}
