// Finds out whether the references in a union, that is, in filters that are joined by `or`, lead to few rows. If so, it is fast
// to compare references with the id of each of these rows.
import type { Entity } from '../model/entity.ts'
import { equality } from '../model/operators.ts'
import { type Filter, isOfOtherRows, matchesNone, withoutUnions } from '../model/query.ts'
import { integer, join, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { commaList } from './batch.ts'
import { referredIds } from './matching.ts'
import { shapeCache, shapeOf, valuesOf } from './parts.ts'

/** Maximum number of ids of one filter that are compared one by one. */
const IDS_MAX = 1_000

const textOfShape = shapeCache<string>(200)

/**
 * Returns the unions for which `compileFewIds` is worthwhile. Such a union has a filter by a path or a chain. An index finds the
 * rows of each alternative, and the rows at the end of each path.
 */
export function unionsOfIds(filters: readonly Filter[]): Filter[] {
  return filters.filter((filter) => {
    const { either } = filter
    return either?.every(isOfFewRows) && withoutUnions([filter]).some(isOfOtherRows) && withoutUnions([filter]).every(isCounted)
  })
}

/** Returns whether an index finds the rows that match all filters: by the id, a unique value, a reference, a path or a chain. */
function isOfFewRows(filters: readonly Filter[]): boolean {
  return filters.some((filter) => {
    const { property, operator, value, anyOf, either } = filter
    if (either) return either.every(isOfFewRows)
    if (property.related !== null) return !matchesNone(filter)
    const isKey = property.reference !== null || property.unique !== null || property.name === 'Id'
    const isEqual = (operator === equality || operator.isAny) && value !== null && !anyOf?.includes(null)
    return operator.isChain || (isKey && isEqual)
  })
}

/** Returns whether an index finds the rows at the end of a filter's path. True for filters without a path. */
function isCounted({ property, operator }: Filter): boolean {
  let end = property
  while (end.related) end = end.related.property
  return property.related === null || (operator.folded === null && (end.indexed || end.unique !== null))
}

/** Compiles a statement that returns a boolean for each union: whether its references lead to few rows. */
export function compileFewIds({ table }: Entity, unions: readonly Filter[]): Statement {
  const asked = unions.map((union) => withoutUnions([union]).filter((one) => isOfOtherRows(one) && !matchesNone(one)))
  const values = valuesOf(asked.flat())
  const text = textOfShape(`${table} ${asked.map((filters) => shapeOf(filters)).join('|')}`, () => {
    const operands = values.map(param)
    let next = 0
    const areFew = (filter: Filter): Sql => {
      const ids = referredIds(filter, operands.slice(next, (next += valuesOf([filter]).length)))
      return sql`(select count(*) <= ${integer(IDS_MAX)} from (${ids} limit ${integer(IDS_MAX + 1)}) as counted)`
    }
    return toStatement(sql`select ${commaList(asked.map((filters) => join(filters.map(areFew), sql` and `)))}`, operands).text
  })
  return { text, values }
}
