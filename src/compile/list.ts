// Lists: a page and its total in one statement, by page number or by cursor.
import type { Batch, BatchableStatement } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { parentRowOf } from '../model/listCost.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import { opposite, order, type Sort } from '../model/query.ts'
import { integer, name, type Param, param, type Sql, sql, toStatement } from '../model/sql.ts'
import { commaList, compileBatchQuery } from './batch.ts'
import { type ReusedRows, reusedRows, rowsOf } from './matching.ts'
import { type Compiled, columns, orderBy, shapeCache, shapeOf, valuesOf } from './parts.ts'
import { nearestRows } from './seek.ts'

const compiledShape = shapeCache<Compiled>(2_000)
/** A separate cache: statements of cursors are longer, and each combination of nulls in a cursor makes another one. */
const cursorShape = shapeCache<Compiled>(500)

// Names of computed columns have a capital letter, because properties may have any other name, such as `count` or `n`.

/**
 * Compiles a page of a list with its total in the last column of each row. A later page without rows is one row whose id is null;
 * page 1 without rows is no row at all. A page by cursor has one more row, at its far end, if more rows follow.
 */
export function compileList(entity: Entity, query: ListQuery): BatchableStatement {
  const { filters, sorts, page, pageSize, seek } = query
  const values = valuesOf(filters)
  const isFirst = seek === null && page === 1
  if (seek) values.push(...seek.position.filter((value) => value !== null))
  else if (!isFirst) values.push(String((page - 1) * pageSize))
  const shape = `${seek?.side ?? isFirst} ${entity.table} ${pageSize}${shapeOf(filters, sorts, seek?.position)}`
  const { text, batch } = (seek ? cursorShape : compiledShape)(shape, () => {
    const operands = values.map(param)
    const compile = seek ? pageByCursor : isFirst ? firstPage : pageByNumber
    const piece = compile(entity, query, operands)
    return { text: toStatement(piece, operands).text, batch: isFirst ? batchOf(query, piece, operands) : null }
  })
  return { text, values, batch }
}

/** Batches only quick lists: first pages of the children of one row. */
function batchOf(query: ListQuery, piece: Sql, operands: readonly Param[]): Batch | null {
  const { filters } = query
  const kinds = filters.flatMap(({ property, value }) => (value === null ? [] : [property.kind]))
  const isComparable = filters.every(({ anyOf }) => anyOf === undefined) && kinds.every(({ columnType }) => columnType !== 'text')
  if (parentRowOf(filters) === null || !isComparable) return null
  const types = kinds.map(({ columnType }) => columnType)
  const typed = operands.map((param, index) => ({ param, type: types[index] as string }))
  return compileBatchQuery(piece, typed)
}

function firstPage(entity: Entity, query: ListQuery, operands: readonly Param[]) {
  const { sorts, pageSize } = query
  const rows = reusedRows(entity, query, operands)
  const keys = orderBy(order(entity, sorts))
  const selected = sql`select ${columns(entity)}, (${totalOf(rows)}) as "L"`
  const page = sql`${rowsOf(rows)} order by ${keys} limit ${integer(pageSize)}`
  if (!rows.isMaterialized) return sql`${selected} from ${page}`
  const ids = sql`(select id from ${page})`
  return sql`with ${commaList(rows.parts)} ${selected} from ${name(entity.table)} where id = any (array ${ids}) order by ${keys}`
}

function totalOf(rows: ReusedRows): Sql {
  return sql`select count(*) from ${rowsOf(rows)}`
}

/**
 * Compiles a page by number. It finds the ids first, by index-only scans if possible, from the nearer end of the order: of the
 * two branches, one has `limit 0` and does no work.
 */
function pageByNumber(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const { sorts, pageSize } = query
  const table = name(entity.table)
  const rows = reusedRows(entity, query, operands)
  const forwards = order(entity, sorts)
  const skip = operands.at(-1) as Param
  // An array of ids: the planner cannot know how few they are, and would read the whole table for a join.
  const ids = (keys: readonly Sort[], limit: Sql, offset: Sql) =>
    sql`(select id from ${rowsOf(rows)} order by ${orderBy(keys)} limit (select ${limit} from "Place") offset (select ${offset} from "Place"))`
  const parts = [
    ...rows.parts,
    sql`"Total" ("N") as materialized (${totalOf(rows)})`,
    sql`"Place" as materialized (select "N" as n, skip, least(${integer(pageSize)}, "N" - skip) as size \
from "Total", (select ${skip}::bigint as skip) as wanted)`,
    sql`"Page" as (select * from ${table} where id = any (array( \
${ids(forwards, sql`case when skip <= n - skip then size else 0 end`, sql`skip`)} \
union all \
${ids(opposite(forwards), sql`case when skip <= n - skip then 0 else greatest(size, 0) end`, sql`greatest(n - skip - size, 0)`)})))`,
  ]
  return sql`\
with ${commaList(parts)} select ${columns(entity)}, "N" \
from "Total" left join "Page" on true order by ${orderBy(forwards)}`
}

function pageByCursor(entity: Entity, query: ListQuery, operands: readonly Param[]): Sql {
  const { filters, seek } = query
  const values = filters.filter(({ value }) => value !== null).length
  const rows = reusedRows(entity, query, operands)
  const near = nearestRows(entity, query, seek as Seek, rows, operands.slice(values))
  const page = rows.isMaterialized
    ? sql`select * from ${name(entity.table)} where id = any (array (select id from (${near}) as ids))`
    : near
  const parts = [...rows.parts, sql`"First" ("L") as materialized (${totalOf(rows)})`, sql`"Page" as (${page})`]
  return sql`\
with ${commaList(parts)} select ${columns(entity)}, "L" \
from "First" left join "Page" on true order by ${orderBy(order(entity, query.sorts))}`
}
