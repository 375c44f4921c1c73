// Lists: a page and its total in one statement, by page number or by cursor.
import type { Batch, Batchable } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import { opposite, order, type Sort } from '../model/query.ts'
import { integer, name, type Param, param, type Sql, sql, toStatement } from '../model/sql.ts'
import { batchQuery } from './batch.ts'
import { columns, conditionsOf, orderBy, ShapeCache, shapeOfFilters, shapeOfSorts, where } from './parts.ts'
import { nearestRows } from './seek.ts'

const shapes = new ShapeCache(2_000)
/** A cache of its own: statements by cursor are longer, and each combination of nulls in a position makes another. */
const seekShapes = new ShapeCache(500)

// A property may be called like anything here, `count` or `n`, but by no name with a capital letter: so results that stand
// beside columns have one.

/**
 * Returns the entity's columns and then the total in each row. A page without rows is one row with null for an id, but page 1 of
 * nothing is no row at all. A page by cursor has a row more, at its far end, if there are more.
 */
export function compileList(entity: Entity, query: ListQuery): Batchable {
  const values = valuesOf(query)
  const isFirst = query.seek === null && query.page === 1
  const { text, batch } = (query.seek ? seekShapes : shapes).get(`${isFirst} ${shapeOf(entity, query)}`, () => {
    const operands = values.map(param)
    const compile = query.seek ? soughtPage : isFirst ? firstPage : laterPage
    const piece = compile(entity, query, operands)
    return { text: toStatement(piece, operands).text, batch: isFirst ? batchOf(query, piece, operands) : null }
  })
  return { text, values, batch }
}

function valuesOf({ filters, page, pageSize, seek }: ListQuery): string[] {
  const values = filters.flatMap(({ value }) => value ?? [])
  if (seek) return [...values, ...seek.position.filter((value) => value !== null)]
  return page > 1 ? [...values, String((page - 1) * pageSize)] : values
}

/** Key of queries that are one statement, found in the same way: all but the values. */
function shapeOf(entity: Entity, { filters, sorts, pageSize, seek }: ListQuery): string {
  let shape = `${entity.table} ${pageSize}${shapeOfFilters(filters)}${shapeOfSorts(sorts)}`
  if (seek) shape += ` ${seek.side} ${seek.position.map((value) => (value === null ? '-' : '?')).join('')}`
  return shape
}

/** Name of the row that all rows of the list refer to, so that they are few; null: they refer to none in common. */
export function ownerOf({ filters }: ListQuery): string | null {
  for (const { property, operator, value } of filters)
    if (property.reference && operator.sign === '=' && value !== null) return `${property.column} ${value}`
  return null
}

/** Batch of quick lists only: first pages of rows that refer to one row. */
function batchOf(query: ListQuery, piece: Sql, operands: readonly Param[]): Batch | null {
  const { filters } = query
  const kinds = filters.flatMap(({ property, value }) => (value === null ? [] : [property.kind]))
  const isComparable = filters.every(({ anyOf }) => anyOf === undefined) && kinds.every(({ columnType }) => columnType !== 'text')
  if (ownerOf(query) === null || !isComparable) return null
  const types = kinds.map(({ columnType }) => columnType)
  const typed = operands.map((param, index) => ({ param, type: types[index] as string }))
  return batchQuery(piece, typed)
}

function firstPage(entity: Entity, query: ListQuery, operands: readonly Param[]) {
  const { filters, sorts, pageSize } = query
  const filtered = sql`${name(entity.table)}${where(conditionsOf(filters, operands))}`
  return sql`select ${columns(entity)}, (${totalOf(entity, query, operands)}) as "L" from ${filtered} order by ${orderBy(order(entity, sorts))} limit ${integer(pageSize)}`
}

function totalOf({ table }: Entity, { filters }: ListQuery, operands: readonly Param[]): Sql {
  return sql`select count(*) from ${name(table)}${where(conditionsOf(filters, operands))}`
}

/**
 * Finds the ids first, from the index alone where it can, then fetches the rows; and reads from the nearer end: of the
 * two branches the one with `limit 0` does no work. The ids become an array, since the planner, which cannot know how
 * few they are, would otherwise join by reading the whole table.
 */
function laterPage(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const { filters, sorts, pageSize } = query
  const table = name(entity.table)
  const filtered = where(conditionsOf(filters, operands))
  const forwards = order(entity, sorts)
  const skip = operands.at(-1) as Param
  const ids = (keys: readonly Sort[], limit: Sql, offset: Sql) =>
    sql`(select id from ${table}${filtered} order by ${orderBy(keys)} limit (select ${limit} from place) offset (select ${offset} from place))`
  return sql`\
with total as materialized (select count(*) as "N" from ${table}${filtered}), \
place as materialized (select "N" as n, skip, least(${integer(pageSize)}, "N" - skip) as size \
from total, (select ${skip}::bigint as skip) as wanted), \
page as (select * from ${table} where id = any (array( \
${ids(forwards, sql`case when skip <= n - skip then size else 0 end`, sql`skip`)} \
union all \
${ids(opposite(forwards), sql`case when skip <= n - skip then 0 else greatest(size, 0) end`, sql`greatest(n - skip - size, 0)`)}))) \
select ${columns(entity)}, "N" \
from total left join page on true order by ${orderBy(forwards)}`
}

function soughtPage(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const { filters, seek } = query
  const values = filters.filter(({ value }) => value !== null).length
  const nearest = nearestRows(entity, query, seek as Seek, conditionsOf(filters, operands), operands.slice(values))
  return sql`\
with first ("L") as materialized (${totalOf(entity, query, operands)}), page as (${nearest}) \
select ${columns(entity)}, "L" from first left join page on true order by ${orderBy(order(entity, query.sorts))}`
}
