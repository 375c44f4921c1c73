// Reads one row by its id, by a statement of its own or in a batch.
import type { BatchableStatement } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import type { Filter } from '../model/query.ts'
import { join, name, param, type Sql, type Statement, sql, toStatement, typeName } from '../model/sql.ts'
import { matching } from './matching.ts'
import { type Compiled, columns, shapeCache, shapeOf, valuesOf } from './parts.ts'

// Compiled once: it is the most frequent statement, and its text is always the same.
const compiledGet = memoize((entity: Entity): Compiled => {
  const read = sql`select ${columns(entity)}, xmin::text as "X" from ${name(entity.table)} where id = `
  const textWith = (operand: Sql) => toStatement(sql`${read}${operand}`).text
  // One index scan for all ids costs PostgreSQL a third less than a join.
  const ids = sql`any (${param(null)}::${typeName(entity.id.kind.columnType)}[])`
  return { text: textWith(sql`${param(null)}`), batch: { text: textWith(ids), matchBy: 'id', distinct: null } }
})

const compiledShape = shapeCache<Compiled>(200)

/** Compiles the read of one row by its id, if it matches the filters of a view. Returns the row and its version. */
export function compileGet(entity: Entity, id: string, filters: readonly Filter[] = []): BatchableStatement {
  if (filters.length === 0) {
    const { text, batch } = compiledGet(entity)
    return { text, values: [id], batch }
  }
  const values = valuesOf(filters)
  const { text, batch } = compiledShape(`${entity.table}${shapeOf(filters)}`, () =>
    compileFiltered(entity, filters, values.length),
  )
  return { text, values: [id, ...values], batch }
}

function compileFiltered(entity: Entity, filters: readonly Filter[], shared: number): Compiled {
  const id = param(null)
  const operands = Array.from({ length: shared }, () => param(null))
  const { table, from, conditions } = matching(entity, filters, operands)
  const textWith = (ids: Sql) => {
    const all = join([sql`id = ${ids}`, ...conditions], sql` and `)
    const read = sql`select ${columns(entity)}, ${table}.xmin::text as "X" from ${from} where ${all}`
    return toStatement(read, [id, ...operands]).text
  }
  const ids = sql`any (${id}::${typeName(entity.id.kind.columnType)}[])`
  return { text: textWith(sql`${id}`), batch: { text: textWith(ids), matchBy: 'id', distinct: null, shared } }
}

/**
 * Compiles a read of the names and types of the table's columns, as PostgreSQL prints them. Fails if the table does not exist.
 */
export function compileColumnTypes({ table }: Entity): Statement {
  const types = sql`select attname::text, format_type(atttypid, atttypmod) from pg_attribute`
  return toStatement(sql`${types} where attrelid = ${param(`"${table}"`)}::text::regclass and attnum > 0`)
}
