import type { Entity } from '../model/entity.ts'
import { type OrderKey, opposite, order } from '../model/order.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import {
  type Batch,
  integer,
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
import { conditionsOf, where } from './condition.ts'
import { orderBy } from './order.ts'
import { nearestRows } from './seek.ts'
import { type Compiled, ShapeCache } from './shapes.ts'

const shapes = new ShapeCache(2_000)
/** There are more of these, since each null of a position makes another, and they are longer. */
const seekShapes = new ShapeCache(500)

/**
 * The page and the total of a list, in one statement. Each row is the total, then the entity's columns; a page without
 * rows is one row with null for an id, but page 1 of nothing is no row at all. A page that was sought has a row more,
 * at its far end, if there are more.
 */
export function compileList(entity: Entity, query: ListQuery): Statement {
  return compile(entity, query, 'counted')
}

/** The page alone: each row is the entity's columns. */
export function compileRows(entity: Entity, query: ListQuery): Statement {
  return compile(entity, query, 'plain')
}

function compile(entity: Entity, query: ListQuery, form: keyof Way): Statement {
  const values = valuesOf(query)
  const way = query.seek ? 'sought' : query.page > 1 ? 'later' : 'first'
  const make = (): Compiled => {
    const operands = values.map(param)
    const piece = ways[way][form](entity, query, operands)
    return { text: toStatement(piece, operands).text, batch: way === 'first' ? batchOf(query, piece, operands) : null }
  }
  const { text, batch } = (query.seek ? seekShapes : shapes).get(`${form} ${way} ${shapeOf(entity, query)}`, make)
  return { text, values, batch }
}

function valuesOf({ filters, page, pageSize, seek }: ListQuery): string[] {
  const values: string[] = []
  for (const { value } of filters) if (value !== null) values.push(value)
  if (seek) values.push(...seek.position.filter((value) => value !== null))
  else if (page > 1) values.push(String((page - 1) * pageSize))
  return values
}

/** What two queries must have in common to be one statement, found in the same way: all but the values. */
function shapeOf(entity: Entity, { filters, sorts, pageSize, seek }: ListQuery): string {
  let shape = `${entity.table} ${pageSize}`
  for (const { property, operator, value } of filters)
    shape += ` ${property.column}${operator.prefix}${value === null ? '' : '?'}`
  for (const { property, direction } of sorts) shape += ` ${property.column} ${direction}`
  if (seek) shape += ` ${seek.side} ${seek.position.map((value) => (value === null ? '-' : '?')).join('')}`
  return shape
}

/** Only what is quick is worth waiting for in company: the first page of what belongs to one row. */
function batchOf({ filters }: ListQuery, piece: Sql, operands: readonly Param[]): Batch | null {
  const isNarrow = filters.some(
    ({ property, operator, value }) => property.reference && operator.prefix === '=' && value !== null,
  )
  const kinds = filters.flatMap(({ property, value }) => (value === null ? [] : [property.kind]))
  if (!isNarrow || kinds.some(({ columnType }) => columnType === 'text')) return null
  const types = kinds.map(({ columnType }) => columnType)
  const typed = operands.map((param, index) => ({ param, type: types[index] as string }))
  return batchQuery(piece, typed)
}

type Compile = (entity: Entity, query: ListQuery, operands: readonly Param[]) => Sql

/** A way to find a page: with the total in front of each row, and without. */
interface Way {
  readonly counted: Compile
  readonly plain: Compile
}

const ways: Record<'first' | 'later' | 'sought', Way> = {
  first: {
    counted: (entity, query, operands) =>
      firstPage(entity, query, operands, sql`(${countOf(entity, query, operands)}), ${columns(entity)}`),
    plain: (entity, query, operands) => firstPage(entity, query, operands, columns(entity)),
  },
  later: { counted: laterPage, plain: laterRows },
  sought: { counted: soughtPage, plain: soughtRows },
}

function firstPage(entity: Entity, { filters, sorts, pageSize }: ListQuery, operands: readonly Param[], selected: Sql) {
  const filtered = sql`${name(entity.table)}${where(conditionsOf(filters, operands))}`
  return sql`select ${selected} from ${filtered} order by ${orderBy(order(entity, sorts))} limit ${integer(pageSize)}`
}

function countOf({ table }: Entity, { filters }: ListQuery, operands: readonly Param[]): Sql {
  return sql`select count(*) from ${name(table)}${where(conditionsOf(filters, operands))}`
}

/**
 * Finds the ids first, from the index alone where it can, then fetches the rows; and reads from the nearer end: of the
 * two branches the one with `limit 0` does no work. The ids become an array, since the planner, which cannot know how
 * few they are, would otherwise join by reading the whole table.
 */
function laterPage(entity: Entity, { filters, sorts, pageSize }: ListQuery, operands: readonly Param[]): Sql {
  const table = name(entity.table)
  const filtered = where(conditionsOf(filters, operands))
  const forwards = order(entity, sorts)
  const skip = operands.at(-1) as Param
  const ids = (keys: OrderKey[], limit: Sql, offset: Sql) =>
    sql`(select id from ${table}${filtered} order by ${orderBy(keys)} limit (select ${limit} from place) offset (select ${offset} from place))`
  return sql`\
with total as materialized (select count(*) as n from ${table}${filtered}), \
place as materialized (select n, skip, least(${integer(pageSize)}, n - skip) as size \
from total, (select ${skip}::bigint as skip) as wanted), \
page as (select * from ${table} where id = any (array( \
${ids(forwards, sql`case when skip <= n - skip then size else 0 end`, sql`skip`)} \
union all \
${ids(opposite(forwards), sql`case when skip <= n - skip then 0 else greatest(size, 0) end`, sql`greatest(n - skip - size, 0)`)}))) \
select n, ${columns(entity)} from total left join page on true order by ${orderBy(forwards)}`
}

/** Without the total there is no telling which end is nearer. */
function laterRows(entity: Entity, { filters, sorts, pageSize }: ListQuery, operands: readonly Param[]): Sql {
  const table = name(entity.table)
  const ordered = sql`order by ${orderBy(order(entity, sorts))}`
  const skip = operands.at(-1) as Param
  const ids = sql`select id from ${table}${where(conditionsOf(filters, operands))} ${ordered} limit ${integer(pageSize)} offset ${skip}`
  return sql`select ${columns(entity)} from ${table} where id = any (array(${ids})) ${ordered}`
}

function soughtPage(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  return sql`\
with total ("N") as materialized (${countOf(entity, query, operands)}), page as (${nearest(entity, query, operands)}) \
select "N", ${columns(entity)} from total left join page on true order by ${orderBy(order(entity, query.sorts))}`
}

function soughtRows(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const page = nearest(entity, query, operands)
  return sql`select ${columns(entity)} from (${page}) as page order by ${orderBy(order(entity, query.sorts))}`
}

function nearest(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const { filters, seek } = query
  const values = filters.filter(({ value }) => value !== null).length
  return nearestRows(entity, query, seek as Seek, conditionsOf(filters, operands), operands.slice(values))
}
