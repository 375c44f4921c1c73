import type { Entity } from '../model/entity.ts'
import type { Filter, ListQuery } from '../model/query.ts'
import {
  type Batch,
  integer,
  join,
  name,
  type Param,
  param,
  type Sql,
  type Statement,
  sql,
  toStatement,
} from '../model/sql.ts'
import { batchQuery } from './batch.ts'
import { columns } from './columns.ts'
import { type OrderKey, opposite, order, orderBy } from './order.ts'
import { ShapeCache } from './shapes.ts'

const shapes = new ShapeCache(2_000)

/**
 * The page and the total of a list, in one statement. Each row is the total, then the entity's columns;
 * a page past the last is one row with null for an id, page 1 of nothing is no row at all.
 */
export function compileList(entity: Entity, query: ListQuery): Statement {
  const values: string[] = []
  for (const { value } of query.filters) if (value !== null) values.push(value)
  if (query.page > 1) values.push(String((query.page - 1) * query.pageSize))
  const { text, batch } = shapes.get(shapeOf(entity, query), () => {
    const operands = values.map(param)
    const piece = query.page > 1 ? laterPage(entity, query, operands) : firstPage(entity, query, operands)
    return { text: toStatement(piece, operands).text, batch: batchOf(query, piece, operands) }
  })
  return { text, values, batch }
}

/** Only what is quick is worth waiting for in company: the first page of what belongs to one row. */
function batchOf({ filters, page }: ListQuery, piece: Sql, operands: readonly Param[]): Batch | null {
  const isNarrow = filters.some(
    ({ property, operator, value }) => property.reference && operator.prefix === '=' && value !== null,
  )
  const kinds = filters.flatMap(({ property, value }) => (value === null ? [] : [property.kind]))
  if (page > 1 || !isNarrow || kinds.some(({ columnType }) => columnType === 'text')) return null
  const types = kinds.map(({ columnType }) => columnType)
  const typed = operands.map((param, index) => ({ param, type: types[index] as string }))
  return batchQuery(piece, typed)
}

/** What two queries must have in common to be one statement: all but the values. */
function shapeOf(entity: Entity, { filters, sorts, page, pageSize }: ListQuery): string {
  let shape = `${entity.table} ${page > 1 ? 'later' : 'first'} ${pageSize}`
  for (const { property, operator, value } of filters)
    shape += ` ${property.column}${operator.prefix}${value === null ? '' : '?'}`
  for (const { property, direction } of sorts) shape += ` ${property.column} ${direction}`
  return shape
}

function firstPage(entity: Entity, query: ListQuery, operands: Param[]): Sql {
  const where = condition(query.filters, operands)
  return sql`select (select count(*) from ${name(entity.table)}${where}), ${columns(entity)} \
from ${name(entity.table)}${where} order by ${orderBy(order(entity, query.sorts))} limit ${integer(query.pageSize)}`
}

/**
 * Finds the ids first, from the index alone where it can, then fetches the rows; and reads from the nearer end: of the
 * two branches the one with `limit 0` does no work. The ids become an array, since the planner, which cannot know how
 * few they are, would otherwise join by reading the whole table.
 */
function laterPage(entity: Entity, query: ListQuery, operands: Param[]): Sql {
  const table = name(entity.table)
  const where = condition(query.filters, operands)
  const forwards = order(entity, query.sorts)
  const skip = operands.at(-1) as Param
  const ids = (keys: OrderKey[], limit: Sql, offset: Sql) =>
    sql`(select id from ${table}${where} order by ${orderBy(keys)} limit (select ${limit} from place) offset (select ${offset} from place))`
  return sql`\
with total as materialized (select count(*) as n from ${table}${where}), \
place as materialized (select n, skip, least(${integer(query.pageSize)}, n - skip) as size \
from total, (select ${skip}::bigint as skip) as wanted), \
page as (select * from ${table} where id = any (array( \
${ids(forwards, sql`case when skip <= n - skip then size else 0 end`, sql`skip`)} \
union all \
${ids(opposite(forwards), sql`case when skip <= n - skip then 0 else greatest(size, 0) end`, sql`greatest(n - skip - size, 0)`)}))) \
select n, ${columns(entity)} from total left join page on true order by ${orderBy(forwards)}`
}

/** ` where ...`, or nothing. Filters without a value take no operand. */
function condition(filters: readonly Filter[], operands: readonly Param[]): Sql {
  if (filters.length === 0) return sql``
  let next = 0
  const conditions = filters.map(({ property, operator, value }) => {
    const column = name(property.column)
    if (value !== null) return operator.compile(column, operands[next++] as Param)
    if (!operator.compileEmpty) throw new Error(`operator ${operator.prefix} without a value`)
    return operator.compileEmpty(column, property.kind.emptyIsNoValue)
  })
  return sql` where ${join(conditions, sql` and `)}`
}
