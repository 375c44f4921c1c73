// Finds the rows that have one of several values of a property. D115
import type { Property } from '../model/entity.ts'
import { arrayText, integer, join, name, param, replaceParams, type Statement, sql, toStatement } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { batchInput, columnOf, type Operand } from './batch.ts'
import { bindFilters, conditionsOf, storedValue } from './guard.ts'

/**
 * Selects the first `countMax` rows with one of the values: the number of the value, from 1, the id of the row, and `t` if the
 * view shows the row, else `f`.
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
  const isShown = shown.length === 0 ? sql`'t'` : sql`case when ${join(shown, sql` and `)} then 't' else 'f' end`
  const rows = sql`${from} join ${name(table)} as t on t.${name(column)} = ${value}`
  const found = sql`select b."N"::text, t.id::text, ${isShown} from ${rows} order by b."N", t.id limit ${integer(countMax)}`
  return toStatement(replaceParams(found, columnOf(operands)))
}
