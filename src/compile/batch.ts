// Batches: one statement for several runs, whose values it gets as arrays.
import type { Batch } from '../model/batch.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement, typeName } from '../model/sql.ts'
import { setAuditKeyAndLockTimeout } from './audit.ts'

/** A value of a statement, and its type. */
export interface Operand {
  readonly param: Param
  readonly type: string
}

/** The runs of a batch, as SQL. */
export interface BatchInput {
  /** A row `b` for each run: its values, and its number from 1. No column of an entity has a capital letter. */
  readonly from: Sql
  /** The arrays, in the order of the operands. */
  readonly arrays: readonly Sql[]
}

/** Compiles a query for each run. It is joined laterally by a nested loop, so rows of one run keep their order. */
export function compileBatchQuery(query: Sql, operands: readonly Operand[]): Batch {
  // No operand may be text: a parameter takes its collation from the column that it is compared with, a column does not.
  const inner = replaceParams(query, columnOf(operands))
  const params = operands.map(() => param(null))
  const { from } = batchInput(operands, params)
  const { text } = toStatement(sql`select r.*, b."N" from ${from} cross join lateral (${inner}) as r`, params)
  return { text, matchBy: 'number', distinct: null }
}

/**
 * Compiles a write of several runs, and returns its text. Its arrays are numbered as the operands are; after them comes the API
 * key. `settings` is a condition that is always true; it sets the API key and the lock timeout.
 */
export function compileBatchWrite(
  operands: readonly Operand[],
  keyId: Param,
  compile: (input: BatchInput, settings: Sql) => Sql,
): string {
  const params = operands.map(() => param(null))
  const write = compile(batchInput(operands, params), setAuditKeyAndLockTimeout(keyId))
  return toStatement(write, [...params, keyId]).text
}

/** Unnests one array for each operand. */
export function batchInput(operands: readonly Operand[], params: readonly Param[]): BatchInput {
  // Without the limits of a column's type, which would round a filter's number to those of a row.
  const arrays = operands.map(({ type }, index) => sql`${params[index] as Param}::${typeName(type.replace(/\(.*?\)/, ''))}[]`)
  const names = operands.map((_, index) => sql`"V${integer(index + 1)}"`)
  const from = sql`unnest(${commaList(arrays)}) with ordinality as b(${commaList([...names, sql`"N"`])})`
  return { from, arrays }
}

/** Returns the column of `b` that has the value of an operand in each run. */
export function columnOf(operands: readonly Operand[]): (param: Param) => Sql {
  return (param) => sql`b."V${integer(operands.findIndex((operand) => operand.param === param) + 1)}"`
}

export function commaList(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
