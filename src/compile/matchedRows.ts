// Finds the rows that have one of several values of a property. D115
import type { Property } from '../model/entity.ts'
import { arrayText, integer, join, name, param, replaceParams, type Statement, sql, toStatement } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { batchInput, columnOf, type Operand } from './batch.ts'
import { bindFilters, conditionsOf, storedValue } from './guard.ts'

/**
 * Compiles a search for the first `countMax` rows of the view that have one of the values. The statement returns the number of
 * the value, from 1, and the row's id.
 */
export function compileMatchedRows(
  { whole: { table }, filters }: View,
  { column, kind }: Property,
  values: readonly string[],
  countMax: number,
): Statement {
  const operands: readonly Operand[] = [{ param: param(null), type: kind.columnType }]
  const [{ param: value }] = operands as [Operand]
  const { from } = batchInput(operands, [param(arrayText(values))])
  const shown = conditionsOf(bindFilters(filters), storedValue(sql`t.`))
  const rows = sql`${from} join ${name(table)} as t on ${join([sql`t.${name(column)} = ${value}`, ...shown], sql` and `)}`
  const found = sql`select b."N"::text, t.id::text from ${rows} order by b."N", t.id limit ${integer(countMax)}`
  return toStatement(replaceParams(found, columnOf(operands)))
}
