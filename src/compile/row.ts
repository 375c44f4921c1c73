// Reads one row by its id, by a statement of its own or in a batch.
import type { BatchableStatement } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import type { Filter } from '../model/query.ts'
import { join, name, param, type Sql, type Statement, sql, toStatement, typeName } from '../model/sql.ts'
import { matching } from './matching.ts'
import { type Compiled, columns, shapeCache, shapeOf, shapeOfProperty, valuesOf, valuesOfPaths } from './parts.ts'
import { relatedColumns } from './related.ts'

// Compiled once for each entity: no statement is more frequent, and its text is always the same.
const compiledGet = memoize((entity: Entity): Compiled => {
  const read = sql`select ${columns(entity)}, xmin::text as "X" from ${name(entity.table)} where id = `
  const textWith = (operand: Sql) => toStatement(sql`${read}${operand}`).text
  // For PostgreSQL, one index scan for all ids costs a third less than a join.
  const ids = sql`any (${param(null)}::${typeName(entity.id.kind.columnType)}[])`
  return { text: textWith(sql`${param(null)}`), batch: { text: textWith(ids), matchBy: 'id', distinct: null } }
})

const compiledShape = shapeCache<Compiled>(200)

/**
 * Compiles the read of one row by its id, if the row matches the filters of a view. The statement returns the row, its version,
 * and the values of the `related` properties.
 */
export function compileGet(
  entity: Entity,
  id: string,
  filters: readonly Filter[] = [],
  related: readonly Property[] = [],
): BatchableStatement {
  if (filters.length === 0 && related.length === 0) {
    const { text, batch } = compiledGet(entity)
    return { text, values: [id], batch }
  }
  const ofFilters = valuesOf(filters)
  const ofPaths = valuesOfPaths(related)
  const { text, batch } = compiledShape(`${entity.table}${shapeOf(filters)}${related.map(shapeOfProperty).join()}`, () =>
    compileFiltered(entity, filters, related, [ofFilters.length, ofPaths.length]),
  )
  return { text, values: [id, ...ofFilters, ...ofPaths], batch }
}

function compileFiltered(
  entity: Entity,
  filters: readonly Filter[],
  related: readonly Property[],
  [ofFilters, ofPaths]: readonly [ofFilters: number, ofPaths: number],
): Compiled {
  const id = param(null)
  const shared = ofFilters + ofPaths
  const operands = Array.from({ length: shared }, () => param(null))
  const { table, from, conditions } = matching(entity, filters, operands.slice(0, ofFilters))
  const shown = relatedColumns(related, table, operands.slice(ofFilters))
  const textWith = (ids: Sql) => {
    const all = join([sql`id = ${ids}`, ...conditions], sql` and `)
    const read = sql`select ${columns(entity)}, ${table}.xmin::text as "X"${shown} from ${from} where ${all}`
    return toStatement(read, [id, ...operands]).text
  }
  const ids = sql`any (${id}::${typeName(entity.id.kind.columnType)}[])`
  return { text: textWith(sql`${id}`), batch: { text: textWith(ids), matchBy: 'id', distinct: null, shared } }
}

/**
 * Compiles a read of the names and types of the table's columns, as PostgreSQL prints them. The statement fails if the table does
 * not exist.
 */
export function compileColumnTypes({ table }: Entity): Statement {
  const types = sql`select attname::text, format_type(atttypid, atttypmod) from pg_attribute`
  return toStatement(sql`${types} where attrelid = ${param(`"${table}"`)}::text::regclass and attnum > 0`)
}

/**
 * Statement that returns the catalog table in which Citus lists the tables that it manages; null if the database has no Citus.
 */
export const CITUS_CATALOG = toStatement(sql`select to_regclass('pg_catalog.pg_dist_partition')::text`)

/**
 * Compiles a check whether Citus manages the table, distributed or not. If so, the statement returns a row. In a database without
 * Citus, the statement fails.
 */
export function compileIsOfCitus({ table }: Entity): Statement {
  return toStatement(sql`select from pg_dist_partition where logicalrelid = ${param(`"${table}"`)}::text::regclass`)
}
