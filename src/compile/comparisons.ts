// Comparisons of rows with a guard: which conditions a refused write failed, and whether an answer may show a row.
import type { Guard } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Assignments, type Filter, isOfOtherRows, ownProperties } from '../model/query.ts'
import {
  arrayText,
  integer,
  join,
  name,
  param,
  type Row,
  replaceParams,
  type Sql,
  type Statement,
  sql,
  toStatement,
} from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { batchInput, columnOf, commaList, type Operand } from './batch.ts'
import {
  admittedConditions,
  bindFilters,
  conditionsOf,
  type GuardParts,
  guardParts,
  newValue,
  storedValue,
  typedValue,
  type ValueOf,
} from './guard.ts'
import { allTrue, columns } from './parts.ts'

/**
 * A filter of a guard. `pair`: index in `Guard.pairs`. `time`: whether the row must match the filter before or after the write.
 */
export interface GuardCondition {
  readonly pair: number
  readonly time: 'before' | 'after'
  readonly filter: Filter
}

/**
 * Returns the conditions of a guard, in the order in which `compileComparison` and `compileRowComparisons` select their results.
 */
export function guardConditions({ pairs }: Guard): GuardCondition[] {
  return pairs.flatMap(({ before, after }, pair) => [
    ...before.map((filter): GuardCondition => ({ pair, time: 'before', filter })),
    ...after.map((filter): GuardCondition => ({ pair, time: 'after', filter })),
  ])
}

/**
 * Compiles a comparison of a row with a guard. The statement returns the row and its version, then `t` or `f` for whether the key
 * may read the row, and `t` or `f` for each condition of the guard. It returns no row if the row does not exist. `changes`:
 * values that the write would set.
 */
export function compileComparison(entity: Entity, id: string, guard: Guard, changes: Assignments): Statement {
  const guarded = guardParts(guard, [...changes.keys()])
  const stored = storedValue(sql`t.`)
  const written: ValueOf = (property) =>
    changes.has(property) ? typedValue(property, sql`${param(changes.get(property) ?? null)}`) : stored(property)
  const readable = guard.readable === null ? sql`false` : allTrue(conditionsOf(guarded.readable, stored))
  const compared = [sql`t.xmin::text`, readable, ...comparisons(guarded, stored, written)]
  return toStatement(
    sql`select ${columns(entity, sql`t`)}, ${commaList(compared)} from ${name(entity.table)} as t where t.id = ${param(id)}`,
  )
}

/**
 * Compiles a comparison of new rows with a guard. The statement returns the first `countMax` rows that the guard does not admit:
 * the number of the row, from 1, and whether each condition holds. `properties`: the properties that the conditions name.
 * `values`: a PostgreSQL array for each of these properties.
 */
export function compileRowComparisons(
  properties: readonly Property[],
  values: readonly string[],
  guard: Guard,
  countMax: number,
): Statement {
  const guarded = guardParts(guard, [])
  const operands = properties.map(({ kind }) => ({ param: param(null), type: kind.columnType }))
  const { from } = batchInput(operands, values.map(param))
  const written = newValue(properties, operands, ({ name }) => {
    throw new Error(`a new row has no ${name}`)
  })
  const value = columnOf(operands)
  const isAdmitted = allTrue(admittedConditions(guarded, written, written))
  const compared = commaList(comparisons(guarded, written, written))
  return toStatement(
    replaceParams(
      sql`select b."N"::text, ${compared} from ${from} where not ${isAdmitted} order by b."N" limit ${integer(countMax)}`,
      value,
    ),
  )
}

function comparisons({ pairs }: GuardParts, stored: ValueOf, written: ValueOf): Sql[] {
  return pairs
    .flatMap(({ before, after }) => [...conditionsOf(before, stored), ...conditionsOf(after, written)])
    .map((condition) => allTrue([condition]))
}

/**
 * Compiles a search for the rows of a stored answer that the key may read. Such a row matches the filters of the view now, and it
 * matched them when it was stored. The statement returns the numbers of these rows, from 1. `rows`: the rows as they were stored,
 * with the columns of the entity.
 */
export function compileReadable({ whole: entity, properties: shown, filters }: View, rows: readonly Row[]): Statement {
  // If a filter depends on rows to which the row refers, it is unknown whether the row matched when it was stored: the values
  // that the referred rows had then are not stored. So the row must still have all its visible values of that time.
  const unchanged = filters.some(isOfOtherRows) ? shown : []
  const properties = [...new Set([entity.id, ...filters.flatMap(ownProperties), ...unchanged])]
  const operands = properties.map(({ kind }) => ({ param: param(null), type: kind.columnType }))
  const arrays = properties.map((property) => {
    const index = entity.properties.indexOf(property)
    return param(arrayText(rows.map((row) => row[index] ?? null)))
  })
  const { from } = batchInput(operands, arrays)
  const was = newValue(properties, operands, storedValue(sql``))
  const conditions = bindFilters(filters)
  const id = (operands[0] as Operand).param
  const same = unchanged.map((property) => sql`t.${name(property.column)} is not distinct from ${was(property)}`)
  const isNow = join([sql`t.id = ${id}`, ...same, ...conditionsOf(conditions, storedValue(sql`t.`))], sql` and `)
  const now = sql`exists (select from ${name(entity.table)} as t where ${isNow})`
  const matched = join([now, ...conditionsOf(conditions, was)], sql` and `)
  return toStatement(replaceParams(sql`select b."N"::text from ${from} where ${matched}`, columnOf(operands)))
}
