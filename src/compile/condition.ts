import type { Filter } from '../model/query.ts'
import { join, name, type Param, type Sql, sql } from '../model/sql.ts'

/** A condition for each filter. Filters without a value take no operand; the others take `operands` in their order. */
export function conditionsOf(filters: readonly Filter[], operands: readonly Param[]): Sql[] {
  let next = 0
  return filters.map(({ property, operator, value }) => {
    const column = name(property.column)
    if (value !== null) return operator.compile(column, operands[next++] as Param)
    if (!operator.compileEmpty) throw new Error(`operator ${operator.prefix} without a value`)
    return operator.compileEmpty(column, property.kind.emptyIsNoValue)
  })
}

/** ` where ...`, or nothing. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` where ${join(conditions, sql` and `)}`
}
