// Rows beside a cursor: a union of ranges in place of an OR, which no index serves.
import type { Entity } from '../model/entity.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import { opposite, order, type Sort } from '../model/query.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import type { Matching } from './matching.ts'
import { orderBy, where } from './parts.ts'

/** A range of rows beside a position, and an order within it for which there is an index. */
interface Range {
  readonly conditions: readonly Sql[]
  readonly keys: readonly Sort[]
}

/**
 * The rows beside a position, the nearest first: a page of them, and one more if there are more. `operands`: one for each value
 * that is not null. Each way to lie behind is a branch: equal in the first keys, behind in the next. By one property, a branch is
 * a range of an index with a limit; by several, it costs what a list costs that is filtered by the first of them.
 */
export function nearestRows(
  entity: Entity,
  { sorts, pageSize }: Pick<ListQuery, 'sorts' | 'pageSize'>,
  { side, position }: Seek,
  rows: Matching,
  operands: readonly Param[],
): Sql {
  const forwards = order(entity, sorts)
  const keys = side === 'behind' ? forwards : opposite(forwards)
  const limit = sql`limit ${integer(pageSize + 1)}`
  const branches = rangesBehind(layoutOf(keys, position, operands)).map((range) => {
    const condition = where([...rows.conditions, ...range.conditions])
    return sql`(select ${rows.table}.* from ${rows.from}${condition} order by ${orderBy(range.keys)} ${limit})`
  })
  return sql`select * from (${join(branches, sql` union all `)}) as near order by ${orderBy(keys)} ${limit}`
}

/** A value of the position, null where the row has none. */
interface Place {
  readonly key: Sort
  readonly column: Sql
  readonly value: Param | null
}

function layoutOf(keys: readonly Sort[], position: Seek['position'], operands: readonly Param[]): Place[] {
  let next = 0
  return keys.map((key, index) => {
    const value = position[index] === null ? null : (operands[next++] as Param)
    return { key, column: name(key.property.column), value }
  })
}

function rangesBehind(places: readonly Place[]): Range[] {
  const [first, ...rest] = places as [Place, ...Place[]]
  const [id] = rest
  const keys = places.map(({ key }) => key)
  if (!id) return [{ conditions: [compare(first)], keys }]
  if (rest.length === 1 && first.value !== null) return behindPair(first, id)
  const isEqual = first.value === null ? sql`${first.column} is null` : sql`${first.column} = ${first.value}`
  const equal = rangesBehind(rest).map((range) => ({
    conditions: [isEqual, ...range.conditions],
    keys: [first.key, ...range.keys],
  }))
  return [...behind(first).map((condition) => ({ conditions: [condition], keys })), ...equal]
}

/**
 * Behind in the last property, or equal in it and behind by the id. Compared as a pair, since for `a = $1 and id > $2`
 * the planner may prefer the index of the ids, and read all of them to find few. The pair is all that has a value, unless
 * a sort names the id itself, in the other direction: then what is equal has a range of its own, in that of the id.
 */
function behindPair(last: Place, id: Place): Range[] {
  const isDescending = id.key.descending
  const pair = sql`(${last.column}, ${id.column}) ${sign(isDescending)} (${last.value as Param}, ${id.value as Param})`
  const others = behind(last).map((condition) => ({ conditions: [condition], keys: [last.key, id.key] }))
  if (last.key.descending === isDescending) return [{ conditions: [pair], keys: [last.key, id.key] }, ...others.slice(1)]
  const end = sql`${last.column} ${sign(!isDescending)}= ${last.value as Param}`
  return [...others, { conditions: [pair, end], keys: [{ ...last.key, descending: isDescending }, id.key] }]
}

/** Rows without a value: they are behind all values, or before them if the order descends, a range of its own either way. */
function behind(place: Place): Sql[] {
  const { property, descending } = place.key
  if (place.value === null) return descending ? [sql`${place.column} is not null`] : []
  const isNullBehind = property.kind.nullable && !descending
  return isNullBehind ? [compare(place), sql`${place.column} is null`] : [compare(place)]
}

function compare(place: Place): Sql {
  return sql`${place.column} ${sign(place.key.descending)} ${place.value as Param}`
}

function sign(isDescending: boolean): Sql {
  return isDescending ? sql`<` : sql`>`
}
