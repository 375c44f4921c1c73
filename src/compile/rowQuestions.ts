// Questions about rows on which a person's rights depend: the only row that matches, and whether any row matches.
import type { BatchableStatement } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { equality } from '../model/operators.ts'
import { type Filter, isOfOtherRows } from '../model/query.ts'
import { type Param, param, type Sql, sql, toStatement } from '../model/sql.ts'
import { commaList, compileBatchQuery } from './batch.ts'
import { matching, rowsOf } from './matching.ts'
import { type Compiled, columns, shapeCache, shapeOf, valuesOf } from './parts.ts'

/** Rows of one entity that match filters. */
export interface RowsAsked {
  readonly entity: Entity
  readonly filters: readonly Filter[]
}

const compiledShape = shapeCache<Compiled>(200)

/** Compiles a read of the only row that matches. If several rows match, the statement returns two of them. */
export function compileOnly({ entity, filters }: RowsAsked): BatchableStatement {
  return compile('only', [{ entity, filters }], ([rows]) => sql`select ${columns(entity)} from ${rows as Sql} limit 2`)
}

/** Compiles a statement that returns one row, with a boolean for each of `asked`: whether any row matches. */
export function compileSome(asked: readonly RowsAsked[]): BatchableStatement {
  return compile('some', asked, (each) => sql`select ${commaList(each.map((rows) => sql`exists (select from ${rows})`))}`)
}

/** Compiles questions. `read`: makes the statement from the `from` and `where` clauses of each question. */
function compile(name: string, asked: readonly RowsAsked[], read: (rows: readonly Sql[]) => Sql): BatchableStatement {
  const values = asked.flatMap(({ filters }) => valuesOf(filters))
  const shape = `${name} ${asked.map(({ entity, filters }) => `${entity.table}${shapeOf(filters)}`).join()}`
  const { text, batch } = compiledShape(shape, () => {
    const operands = values.map(param)
    let next = 0
    const rows = asked.map(({ entity, filters }) =>
      rowsOf(matching(entity, filters, operands.slice(next, (next += valuesOf(filters).length)))),
    )
    const query = read(rows)
    return { text: toStatement(query, operands).text, batch: batchOf(asked, query, operands) }
  })
  return { text, values, batch }
}

/**
 * Returns the batch form, so that questions for several persons share a statement; null if the questions cannot be in a batch.
 */
function batchOf(asked: readonly RowsAsked[], query: Sql, operands: readonly Param[]): Compiled['batch'] {
  const filters = asked.flatMap((one) => one.filters)
  if (operands.length === 0 || !filters.every(isBatchable)) return null
  const compared = filters.filter(({ value }) => value !== null)
  const typed = compared.map(({ property }, index) => ({ param: operands[index] as Param, type: property.kind.columnType }))
  return compileBatchQuery(query, typed)
}

/**
 * Returns whether a batch decides the filter correctly. The operands of a batch lack the collation of the column, so texts can
 * only be compared for equality.
 */
function isBatchable(filter: Filter): boolean {
  const { property, operator, anyOf } = filter
  return anyOf === undefined && !isOfOtherRows(filter) && (operator === equality || !property.kind.isText)
}
