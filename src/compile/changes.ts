// Statements of the change feed: pages of events, the history of a row, the newest events, and current rows by id.
import type { FeedPosition } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { arrayText, integer, join, name, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { printedText } from './parts.ts'

/** Columns of both statements: state of the feed, then an event, whose columns are null if there is none. */
export const CHANGE_COLUMNS = [
  'run',
  'deletedPosition',
  'deletedNumber',
  'settled',
  'begun',
  'position',
  'number',
  'entity',
  'id',
  'action',
  'at',
  'key',
  'changed',
  'before',
  'after',
] as const

const LINE = sql`position::text, number::text, entity, id::text, action::text, date_trunc('second', at)::text, key, to_json(changed)::text, to_json(before)::text, to_json(after)::text`
const ALL = sql`l.run, l.deleted_position::text, l.deleted_number::text, pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text`

/** Transactions below this number have ended, so readers can stop here without missing an event. */
export const SETTLED = sql`pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

/** The last deleted event: some of those before it may still be there for a moment. */
const DELETED = sql`(l.deleted_position, l.deleted_number)`

/** Condition that an event is after a position. Null: after the deleted events. */
export function isAfter(after: FeedPosition | null): Sql {
  return sql`(position, number) > ${after ? positionOf(after) : DELETED}`
}

function positionOf({ position, number }: FeedPosition): Sql {
  return sql`(${param(position)}::bigint, ${param(number)}::bigint)`
}

/** True if a view hides properties, so that it does not show some updates. */
export function hidesProperties(view: View): boolean {
  return view.properties.length < view.whole.properties.length
}

/** Names of the columns that a view shows, as an array of PostgreSQL. */
function shownColumns({ properties }: View): string {
  return arrayText(properties.map(({ column }) => column))
}

/**
 * Returns ` and …`, a condition that excludes updates of hidden properties only. The statement must exclude them: if this process
 * did, the size of a page would reveal how many updates are hidden.
 */
export function andShown(view: View): Sql {
  return hidesProperties(view) ? sql` and (action <> 'u' or changed && ${param(shownColumns(view))}::text[])` : sql``
}

/**
 * Reads up to `countMax` events of these views after a position, in their order. `last`: last position to read; null: the end.
 */
export function compileChanges(
  views: readonly View[],
  after: FeedPosition | null,
  countMax: number,
  last: FeedPosition | null = null,
): Statement {
  const limit = param(String(countMax))
  const isLater = isAfter(after)
  const andNotBeyond = last === null ? sql`` : sql` and (position, number) <= ${positionOf(last)}`
  // Each entity has its own scan of the index, so that a rare entity's events are not searched for among all others.
  const piece = (view: View) =>
    sql`(select * from entity_change where entity = ${word(view.table)} and ${isLater} and position < ${SETTLED}${andNotBeyond}${andShown(view)} order by position, number limit ${limit}::int)`
  return linesOf(
    sql`select * from (${join(views.map(piece), sql` union all `)}) as piece order by position, number limit ${limit}::int`,
  )
}

/**
 * Finds the position up to which a statement may read, so that it reads at most `countMax` events, hidden ones included. No row:
 * the end.
 */
export function compileStretchEnd(views: readonly View[], after: FeedPosition | null, countMax: number): Statement {
  const piece = ({ table }: View) =>
    sql`(select position, number from entity_change where entity = ${word(table)} and ${isAfter(after)} and position < ${SETTLED} order by position, number offset ${integer(countMax)} limit 1)`
  const pieces = join(views.filter(hidesProperties).map(piece), sql` union all `)
  return toStatement(
    sql`select piece.position::text, piece.number::text from change_feed as l cross join lateral (${pieces}) as piece order by piece.position, piece.number limit 1`,
  )
}

/**
 * Reads up to `countMax` events of one row after a position, as a view shows them. `last`: last position to read; null: the end.
 * Each was committed before the next one could be written.
 */
export function compileHistory(
  view: View,
  id: string,
  after: FeedPosition | null,
  countMax: number,
  last: FeedPosition | null = null,
): Statement {
  const limit = param(String(countMax))
  const own = eventsOf(view, id, after)
  const andNotBeyond = last === null ? sql`` : sql` and number <= ${param(last.number)}::bigint`
  return linesOf(sql`select * from ${own}${andNotBeyond}${andShown(view)} order by number limit ${limit}::int`)
}

/**
 * Finds the position up to which a statement may read the history of a row, so that it reads at most `countMax` events. No row:
 * the end.
 */
export function compileHistoryStretchEnd(view: View, id: string, after: FeedPosition | null, countMax: number): Statement {
  // As a subquery: if the planner knew how many it skips, it could sort all events of the row.
  const skipped = sql`(select ${integer(countMax)})`
  const piece = sql`select position, number from ${eventsOf(view, id, after)} order by number offset ${skipped} limit 1`
  return toStatement(
    sql`select piece.position::text, piece.number::text from change_feed as l cross join lateral (${piece}) as piece`,
  )
}

/**
 * The events of a row after a position: `from` and `where`. If the position is that of one of them, none before it is read. The
 * sum keeps the planner from the index by position, by which it would read the events of all rows.
 */
function eventsOf(view: View, id: string, after: FeedPosition | null): Sql {
  const own = sql`entity = ${word(view.table)} and id = ${param(id)}`
  const place = sql`(position + 0, number)`
  if (after === null) return sql`entity_change where ${own} and ${place} > ${DELETED}`
  const start = positionOf(after)
  const known = sql`select number from entity_change where ${own} and ${place} = ${start}`
  return sql`entity_change where ${own} and ${place} > ${start} and number > coalesce((${known}), 0)`
}

function linesOf(lines: Sql): Statement {
  const fed = sql`change_feed as l left join lateral (${lines}) as line on true`
  return toStatement(sql`select ${ALL}, ${LINE} from ${fed} order by line.position, line.number`)
}

/** Reads the position of the last readable event of each entity that has events. */
export function compileNewest(entities: readonly Entity[]): Statement {
  // Qualified, because the selected columns of the same names are texts.
  const newest = ({ table }: Entity) =>
    sql`(select entity, position::text, number::text from entity_change as line where entity = ${word(table)} and position < ${SETTLED} order by line.position desc, line.number desc limit 1)`
  return toStatement(join(entities.map(newest), sql` union all `))
}

/** A view that hides properties, and the position after which its events are searched. */
export interface Watch {
  readonly view: View
  readonly after: FeedPosition
}

/**
 * For each watch, searches the next `countMax` events after its position. Returns the last of them that the view shows; if there
 * are more events, the first of the others, which the view may show or hide. Columns: the index of the watch from 0, position and
 * number. The text is the same for all watches.
 */
export function compileNewestShown(watches: readonly Watch[], countMax: number): Statement {
  const array = (value: (watch: Watch) => string) => param(arrayText(watches.map(value)))
  const asked = join(
    [
      sql`${array(({ view }) => view.table)}::text[]`,
      sql`${array(({ view }) => shownColumns(view))}::text[]`,
      sql`${array(({ after }) => after.position)}::bigint[]`,
      sql`${array(({ after }) => after.number)}::bigint[]`,
    ],
    sql`, `,
  )
  const watch = sql`unnest(${asked}) with ordinality as watch (entity, names, position, number, ordinal)`
  const count = integer(countMax)
  const later = sql`from entity_change as line where line.entity = watch.entity and (line.position, line.number) > (watch.position, watch.number) and line.position < ${SETTLED} order by line.position, line.number`
  const shown = sql`select position, number from (select position, number, action, changed ${later} limit ${count}) as next where action <> 'u' or changed && watch.names::text[]`
  const beyond = sql`(select position, number ${later} offset ${count} limit 1)`
  const newest = sql`select * from (${shown} union all ${beyond}) as found order by position desc, number desc limit 1`
  return toStatement(
    sql`select (watch.ordinal - 1)::text, newest.position::text, newest.number::text from ${watch} cross join lateral (${newest}) as newest`,
  )
}

/** Reads rows of several entities by their ids. Columns: the index of the entity in `wanted`, its properties, then nulls. */
export function compileRows(wanted: readonly (readonly [Entity, ids: readonly string[]])[]): Statement {
  const width = Math.max(...wanted.map(([{ properties }]) => properties.length))
  const pieces = wanted.map(([{ table, properties }, ids], index) => {
    const cells = Array.from({ length: width }, (_, at) =>
      properties[at] ? printedText(name(properties[at].column), properties[at].kind) : sql`null::text`,
    )
    const columns = join([sql`${integer(index)}::text`, ...cells], sql`, `)
    return sql`select ${columns} from ${name(table)} where id = any (${param(arrayText(ids))}::bigint[])`
  })
  return toStatement(join(pieces, sql` union all `))
}
