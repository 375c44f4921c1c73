// Rows before or after a cursor: a union of ranges, since no index serves conditions that are joined by `or`.
import type { Entity } from '../model/entity.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import { opposite, order, type Sort } from '../model/query.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import type { Matching } from './matching.ts'
import { orderBy, where } from './parts.ts'

/** A range of rows on one side of a position, with the order in which an index reads it. */
interface SeekRange {
  readonly conditions: readonly Sql[]
  readonly keys: readonly Sort[]
}

/**
 * Selects the rows nearest to a position on one side: a page, and one more row if more rows follow. `operands`: one for each
 * value of the position that is not null. Each branch of the union is a range: rows that equal the position in the first keys,
 * and come after it in the next key. A list that is sorted by one property reads only ranges of an index. A list that is sorted
 * by several properties also reads all rows that equal the position in the first property.
 */
export function nearestRows(
  entity: Entity,
  { sorts, pageSize }: Pick<ListQuery, 'sorts' | 'pageSize'>,
  { side, position }: Seek,
  rows: Matching,
  operands: readonly Param[],
): Sql {
  const forwards = order(entity, sorts)
  const keys = side === 'after' ? forwards : opposite(forwards)
  const limit = sql`limit ${integer(pageSize + 1)}`
  const branches = rangesAfter(layoutOf(keys, position, operands)).map((range) => {
    const condition = where([...rows.conditions, ...range.conditions])
    return sql`(select ${rows.table}.* from ${rows.from}${condition} order by ${orderBy(range.keys)} ${limit})`
  })
  return sql`select * from (${join(branches, sql` union all `)}) as near order by ${orderBy(keys)} ${limit}`
}

/** A part of the position: a sort key, and its value in the row at the position; null if that row has no value. */
interface PositionPart {
  readonly key: Sort
  readonly column: Sql
  readonly value: Param | null
}

function layoutOf(keys: readonly Sort[], position: Seek['position'], operands: readonly Param[]): PositionPart[] {
  let next = 0
  return keys.map((key, index) => {
    const value = position[index] === null ? null : (operands[next++] as Param)
    return { key, column: name(key.property.column), value }
  })
}

function rangesAfter(parts: readonly PositionPart[]): SeekRange[] {
  const [first, ...rest] = parts as [PositionPart, ...PositionPart[]]
  const [id] = rest
  const keys = parts.map(({ key }) => key)
  if (!id) return [{ conditions: [compare(first)], keys }]
  if (rest.length === 1 && first.value !== null) return rangesAfterPair(first, id)
  const isEqual = first.value === null ? sql`${first.column} is null` : sql`${first.column} = ${first.value}`
  const equal = rangesAfter(rest).map((range) => ({
    conditions: [isEqual, ...range.conditions],
    keys: [first.key, ...range.keys],
  }))
  return [...conditionsAfter(first).map((condition) => ({ conditions: [condition], keys })), ...equal]
}

/**
 * Returns the ranges for the last property and the id: rows after the property's value, and rows with the same value after the
 * id. One comparison of pairs selects both: for `a = $1 and id > $2` the planner may choose the index of ids, and read all of it
 * to find a few rows. If property and id are sorted in opposite directions, the rows with the same value are a separate range.
 */
function rangesAfterPair(last: PositionPart, id: PositionPart): SeekRange[] {
  const isDescending = id.key.descending
  const pair = sql`(${last.column}, ${id.column}) ${sign(isDescending)} (${last.value as Param}, ${id.value as Param})`
  const others = conditionsAfter(last).map((condition) => ({ conditions: [condition], keys: [last.key, id.key] }))
  if (last.key.descending === isDescending) return [{ conditions: [pair], keys: [last.key, id.key] }, ...others.slice(1)]
  const end = sql`${last.column} ${sign(!isDescending)}= ${last.value as Param}`
  return [...others, { conditions: [pair, end], keys: [{ ...last.key, descending: isDescending }, id.key] }]
}

/**
 * Returns the conditions of the ranges after one value. Rows without a value are a separate range: last ascending, first
 * descending.
 */
function conditionsAfter(part: PositionPart): Sql[] {
  const { property, descending } = part.key
  if (part.value === null) return descending ? [sql`${part.column} is not null`] : []
  const isNullAfter = property.kind.nullable && !descending
  return isNullAfter ? [compare(part), sql`${part.column} is null`] : [compare(part)]
}

function compare(part: PositionPart): Sql {
  return sql`${part.column} ${sign(part.key.descending)} ${part.value as Param}`
}

function sign(isDescending: boolean): Sql {
  return isDescending ? sql`<` : sql`>`
}
