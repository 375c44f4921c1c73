// Statements of the change feed: pages of events, the history of a row, the newest events, and current rows by id.
import type { FeedPosition } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { arrayText, integer, join, name, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { printedText } from './parts.ts'

/**
 * Columns of `compileChanges` and `compileHistory`: the state of the feed, then an event. If there is no event, the columns of
 * the event are null.
 */
export const CHANGE_COLUMNS = [
  'run',
  'deletedPosition',
  'deletedNumber',
  'oldestRunning',
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

const EVENT_COLUMNS = sql`position::text, number::text, entity, id::text, action::text, date_trunc('second', at)::text, key, to_json(changed)::text, to_json(before)::text, to_json(after)::text`
const FEED_COLUMNS = sql`l.run, l.deleted_position::text, l.deleted_number::text, pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text`

/**
 * Number of the oldest transaction that may still run. Readers that stop before this number miss no event: all earlier
 * transactions have ended.
 */
export const OLDEST_RUNNING = sql`pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

/** Position of the last deleted event. An earlier event may be in the table for a moment longer, but counts as deleted. */
const DELETED = sql`(l.deleted_position, l.deleted_number)`

/** Condition that an event comes after the position `after`; if `after` is null, after the last deleted event. */
export function isAfter(after: FeedPosition | null): Sql {
  return sql`(position, number) > ${after ? positionOf(after) : DELETED}`
}

function positionOf({ position, number }: FeedPosition): Sql {
  return sql`(${param(position)}::bigint, ${param(number)}::bigint)`
}

/** Returns whether a view hides properties. Such a view does not show updates that change only hidden properties. */
export function hidesProperties(view: View): boolean {
  return view.properties.length < view.whole.properties.length
}

/** Returns the names of the columns that a view shows, as an array literal of PostgreSQL. */
function shownColumns({ properties }: View): string {
  return arrayText(properties.map(({ column }) => column))
}

/**
 * Returns ` and …`, a condition that leaves out updates which change only hidden properties. The statement must leave these out:
 * if this process did, the size of a page would reveal how many updates are hidden.
 */
export function andShown(view: View): Sql {
  return hidesProperties(view) ? sql` and (action <> 'u' or changed && ${param(shownColumns(view))}::text[])` : sql``
}

/**
 * Compiles a read of up to `countMax` events of these views after a position, in the order of the feed. `last`: last position to
 * read; null: the read may go to the end of the feed.
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
  // Scans the index once for each entity, so that a search for events of a rare entity does not read the events of all entities.
  const ofView = (view: View) =>
    sql`(select * from entity_change where entity = ${word(view.table)} and ${isLater} and position < ${OLDEST_RUNNING}${andNotBeyond}${andShown(view)} order by position, number limit ${limit}::int)`
  return eventsStatement(
    sql`select * from (${join(views.map(ofView), sql` union all `)}) as event order by position, number limit ${limit}::int`,
  )
}

/**
 * Compiles a search for the position up to which one read may go. For a view this is the position of the event after the next
 * `countMax` events, hidden events included. The statement looks only at views that hide properties, and returns the first of
 * their positions. It returns no row if the read may go to the end of the feed.
 */
export function compileStretchEnd(views: readonly View[], after: FeedPosition | null, countMax: number): Statement {
  const ofView = ({ table }: View) =>
    sql`(select position, number from entity_change where entity = ${word(table)} and ${isAfter(after)} and position < ${OLDEST_RUNNING} order by position, number offset ${integer(countMax)} limit 1)`
  const positions = join(views.filter(hidesProperties).map(ofView), sql` union all `)
  return toStatement(
    sql`select event.position::text, event.number::text from change_feed as l cross join lateral (${positions}) as event order by event.position, event.number limit 1`,
  )
}

/**
 * Compiles a read of up to `countMax` events of one row after a position, as a view shows them. `last`: last position to read;
 * null: the read may go to the end. Numbers are enough to sort these events, because each was committed before the next one could
 * be written.
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
  return eventsStatement(sql`select * from ${own}${andNotBeyond}${andShown(view)} order by number limit ${limit}::int`)
}

/**
 * Compiles a search for the position up to which one read of a row's history may go: the position of the event after the next
 * `countMax` events. It returns no row if the read may go to the end.
 */
export function compileHistoryStretchEnd(view: View, id: string, after: FeedPosition | null, countMax: number): Statement {
  // A subquery hides the number of skipped events from the planner, which could otherwise choose to sort all events of the row.
  const skipped = sql`(select ${integer(countMax)})`
  const position = sql`select position, number from ${eventsOf(view, id, after)} order by number offset ${skipped} limit 1`
  return toStatement(
    sql`select event.position::text, event.number::text from change_feed as l cross join lateral (${position}) as event`,
  )
}

/**
 * Returns the `from` and `where` clauses of the events of a row after a position. If one of these events has exactly this
 * position, only events with a greater number are read. The sum `position + 0` keeps the planner from using the index by
 * position, with which it would read the events of all rows.
 */
function eventsOf(view: View, id: string, after: FeedPosition | null): Sql {
  const own = sql`entity = ${word(view.table)} and id = ${param(id)}`
  const eventPosition = sql`(position + 0, number)`
  if (after === null) return sql`entity_change where ${own} and ${eventPosition} > ${DELETED}`
  const start = positionOf(after)
  const known = sql`select number from entity_change where ${own} and ${eventPosition} = ${start}`
  return sql`entity_change where ${own} and ${eventPosition} > ${start} and number > coalesce((${known}), 0)`
}

function eventsStatement(events: Sql): Statement {
  const rows = sql`change_feed as l left join lateral (${events}) as event on true`
  return toStatement(sql`select ${FEED_COLUMNS}, ${EVENT_COLUMNS} from ${rows} order by event.position, event.number`)
}

/** Compiles a read of the position of each entity's last readable event. An entity without such an event has no row. */
export function compileNewest(entities: readonly Entity[]): Statement {
  // The prefix `event.` is needed to sort by the columns: the selected texts have the same names.
  const newest = ({ table }: Entity) =>
    sql`(select entity, position::text, number::text from entity_change as event where entity = ${word(table)} and position < ${OLDEST_RUNNING} order by event.position desc, event.number desc limit 1)`
  return toStatement(join(entities.map(newest), sql` union all `))
}

/** A view that hides properties. `after`: position after which the search for visible events begins. */
export interface Watch {
  readonly view: View
  readonly after: FeedPosition
}

/**
 * Compiles a search, for each watch, among the next `countMax` events after its position. The statement returns the last of these
 * events that the view shows. If more than `countMax` events follow, it instead returns the event after the first `countMax`,
 * even if the view does not show it. Columns: the index of the watch from 0, position and number. The text of the statement does
 * not depend on the watches.
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
  const later = sql`from entity_change as event where event.entity = watch.entity and (event.position, event.number) > (watch.position, watch.number) and event.position < ${OLDEST_RUNNING} order by event.position, event.number`
  const shown = sql`select position, number from (select position, number, action, changed ${later} limit ${count}) as next where action <> 'u' or changed && watch.names::text[]`
  const beyond = sql`(select position, number ${later} offset ${count} limit 1)`
  const newest = sql`select * from (${shown} union all ${beyond}) as found order by position desc, number desc limit 1`
  return toStatement(
    sql`select (watch.ordinal - 1)::text, newest.position::text, newest.number::text from ${watch} cross join lateral (${newest}) as newest`,
  )
}

/**
 * Compiles a read of rows of several entities by their ids. Columns: the index of the entity in `wanted`, then the entity's
 * properties. Rows of entities with fewer properties end with nulls, so that all rows have the same length.
 */
export function compileRows(wanted: readonly (readonly [Entity, ids: readonly string[]])[]): Statement {
  const width = Math.max(...wanted.map(([{ properties }]) => properties.length))
  const ofEntities = wanted.map(([{ table, properties }, ids], index) => {
    const cells = Array.from({ length: width }, (_, at) =>
      properties[at] ? printedText(name(properties[at].column), properties[at].kind) : sql`null::text`,
    )
    const columns = join([sql`${integer(index)}::text`, ...cells], sql`, `)
    return sql`select ${columns} from ${name(table)} where id = any (${param(arrayText(ids))}::bigint[])`
  })
  return toStatement(join(ofEntities, sql` union all `))
}
