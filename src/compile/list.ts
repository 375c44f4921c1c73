// Lists: a page and its total in one statement, by page number or by cursor.
import type { Batch, BatchableStatement } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { parentRowOf } from '../model/listCost.ts'
import type { ListQuery, Seek } from '../model/query.ts'
import { isOfOtherRows, opposite, order, type Sort } from '../model/query.ts'
import { integer, name, type Param, param, type Sql, sql, toStatement } from '../model/sql.ts'
import { commaList, compileBatchQuery } from './batch.ts'
import { type ReusedRows, reusedRows, rowsOf } from './matching.ts'
import { type Compiled, columns, orderBy, shapeCache, shapeOf, shapeOfProperty, valuesOf, valuesOfPaths } from './parts.ts'
import { relatedColumns } from './related.ts'
import { nearestRows } from './seek.ts'

const compiledShape = shapeCache<Compiled>(2_000)
/**
 * Separate cache for pages by cursor: their statements are longer, and each combination of nulls in a cursor has its own
 * statement.
 */
const cursorShape = shapeCache<Compiled>(500)

// Names of computed columns have a capital letter, so that they cannot clash with columns of properties: those can have any name
// in lower case, such as `count` or `n`.

/** Parameters of a list, by their use. */
interface ListOperands {
  readonly filters: readonly Param[]
  /** Values in conditions on the rows through which the paths of chosen properties lead. */
  readonly paths: readonly Param[]
  /** Number of rows to skip, or the position of a cursor. Empty for page 1. */
  readonly position: readonly Param[]
}

/**
 * Compiles a page of a list. Each row has the columns of the entity, the columns of chosen related properties, and last the
 * total. If page 1 is empty, the statement returns no row. If a later page is empty, it returns one row with the total and a null
 * id. A page by cursor has one more row, at the end away from the cursor, if the list goes on there.
 */
export function compileList(entity: Entity, query: ListQuery): BatchableStatement {
  const { filters, sorts, page, pageSize, seek } = query
  const related = relatedOf(query)
  const isFirst = seek === null && page === 1
  const ofFilters = valuesOf(filters)
  const ofPaths = valuesOfPaths(related)
  const ofPosition = seek ? seek.position.filter((value) => value !== null) : isFirst ? [] : [String((page - 1) * pageSize)]
  const values = [...ofFilters, ...ofPaths, ...ofPosition]
  const shown = related.map(shapeOfProperty).join()
  const shape = `${seek?.side ?? isFirst} ${entity.table} ${pageSize}${shapeOf(filters, sorts, seek?.position)}${shown}`
  const { text, batch } = (seek ? cursorShape : compiledShape)(shape, () => {
    const operands = { filters: ofFilters.map(param), paths: ofPaths.map(param), position: ofPosition.map(param) }
    const compile = seek ? pageByCursor : isFirst ? firstPage : pageByNumber
    const compiled = compile(entity, query, operands)
    const text = toStatement(compiled, [...operands.filters, ...operands.paths, ...operands.position]).text
    return { text, batch: isFirst ? batchOf(query, compiled, operands.filters) : null }
  })
  return { text, values, batch }
}

/** Returns the related properties that a list shows. */
function relatedOf({ choice }: ListQuery): readonly Property[] {
  return choice?.related ?? []
}

/**
 * Returns the batch form of a quick list: the first page of the children of one row. Returns null if the list is not quick, or if
 * its filters or columns cannot be part of a batch.
 */
function batchOf(query: ListQuery, page: Sql, operands: readonly Param[]): Batch | null {
  const { filters } = query
  if (relatedOf(query).length > 0 || filters.some((filter) => filter.either || isOfOtherRows(filter))) return null
  const kinds = filters.flatMap(({ property, value }) => (value === null ? [] : [property.kind]))
  const isComparable = filters.every(({ anyOf }) => anyOf === undefined) && kinds.every(({ isText }) => !isText)
  if (parentRowOf(filters) === null || !isComparable) return null
  const types = kinds.map(({ columnType }) => columnType)
  const typed = operands.map((param, index) => ({ param, type: types[index] as string }))
  return compileBatchQuery(page, typed)
}

function firstPage(entity: Entity, query: ListQuery, operands: ListOperands) {
  const { sorts, pageSize } = query
  const rows = reusedRows(entity, query, operands.filters)
  const keys = orderBy(order(entity, sorts))
  const table = name(entity.table)
  const selected = sql`select ${shownColumns(entity, query, table, operands)}, (${totalOf(rows)}) as "L"`
  const page = sql`${rowsOf(rows)} order by ${keys} limit ${integer(pageSize)}`
  if (!rows.isMaterialized) return sql`${selected} from ${page}`
  const ids = sql`(select id from ${page})`
  return sql`with ${commaList(rows.parts)} ${selected} from ${table} where id = any (array ${ids}) order by ${keys}`
}

/** Selects the entity's columns, and the related properties of rows of `table`. */
function shownColumns(entity: Entity, query: ListQuery, table: Sql, { paths }: ListOperands): Sql {
  return sql`${columns(entity)}${relatedColumns(relatedOf(query), table, paths)}`
}

function totalOf(rows: ReusedRows): Sql {
  return sql`select count(*) from ${rowsOf(rows)}`
}

/**
 * Compiles a page by number. First finds the ids of the page, by index-only scans if possible. There is a branch for each end of
 * the order: the branch for the nearer end finds the ids, and the other one has `limit 0` and does no work.
 */
function pageByNumber(entity: Entity, query: ListQuery, operands: ListOperands): Sql {
  const { sorts, pageSize } = query
  const table = name(entity.table)
  const rows = reusedRows(entity, query, operands.filters)
  const forwards = order(entity, sorts)
  const skip = operands.position[0] as Param
  // Uses an array of ids. With a join PostgreSQL would read the whole table, because its planner cannot know that the ids are
  // few.
  const ids = (keys: readonly Sort[], limit: Sql, offset: Sql) =>
    sql`(select id from ${rowsOf(rows)} order by ${orderBy(keys)} limit (select ${limit} from "Range") offset (select ${offset} from "Range"))`
  const parts = [
    ...rows.parts,
    sql`"Total" ("N") as materialized (${totalOf(rows)})`,
    sql`"Range" as materialized (select "N" as n, skip, least(${integer(pageSize)}, "N" - skip) as size \
from "Total", (select ${skip}::bigint as skip) as wanted)`,
    sql`"Page" as (select * from ${table} where id = any (array( \
${ids(forwards, sql`case when skip <= n - skip then size else 0 end`, sql`skip`)} \
union all \
${ids(opposite(forwards), sql`case when skip <= n - skip then 0 else greatest(size, 0) end`, sql`greatest(n - skip - size, 0)`)})))`,
  ]
  return sql`\
with ${commaList(parts)} select ${shownColumns(entity, query, sql`"Page"`, operands)}, "N" \
from "Total" left join "Page" on true order by ${orderBy(forwards)}`
}

function pageByCursor(entity: Entity, query: ListQuery, operands: ListOperands): Sql {
  const { seek } = query
  const rows = reusedRows(entity, query, operands.filters)
  const near = nearestRows(entity, query, seek as Seek, rows, operands.position)
  const page = rows.isMaterialized
    ? sql`select * from ${name(entity.table)} where id = any (array (select id from (${near}) as ids))`
    : near
  const parts = [...rows.parts, sql`"First" ("L") as materialized (${totalOf(rows)})`, sql`"Page" as (${page})`]
  return sql`\
with ${commaList(parts)} select ${shownColumns(entity, query, sql`"Page"`, operands)}, "L" \
from "First" left join "Page" on true order by ${orderBy(order(entity, query.sorts))}`
}
