// Batches: one statement for several runs of the same statement, whose values arrive as arrays; and the settings of a write's
// transaction: the API key that triggers copy into change events (D77), and for a batch a lock timeout.
import { BATCH_LOCK_MS_MAX, type Batch } from '../model/batch.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement, typeName } from '../model/sql.ts'

/** A value of a statement, and its SQL type. */
export interface Operand {
  readonly param: Param
  readonly type: string
}

/** The runs of a batch in SQL. */
export interface BatchInput {
  /**
   * Rows `b`, one for each run: its values, and its number "N", from 1. A name in upper case cannot clash with a column of an
   * entity.
   */
  readonly from: Sql
  /** The arrays of values, in the order of the operands. */
  readonly arrays: readonly Sql[]
}

/** Compiles a read for each run. It is joined laterally by a nested loop, so rows of one run keep their order. */
export function compileBatchQuery(query: Sql, operands: readonly Operand[]): Batch {
  // Operands must not be texts: a parameter takes its collation from the column that it is compared with, a column does not.
  const inner = replaceParams(query, columnOf(operands))
  const params = operands.map(() => param(null))
  const { from } = batchInput(operands, params)
  const { text } = toStatement(sql`select r.*, b."N" from ${from} cross join lateral (${inner}) as r`, params)
  return { text, matchBy: 'number', distinct: null }
}

/**
 * Compiles a write of several runs. Its arrays are numbered as the operands are; after them come the values that all runs
 * `share`, and the API key. `settings` is a condition that is always true; it sets the API key and the lock timeout.
 */
export function compileBatchWrite(
  operands: readonly Operand[],
  shared: readonly Param[],
  keyId: Param,
  compile: (input: BatchInput, settings: Sql) => Sql,
): string {
  const params = operands.map(() => param(null))
  const write = compile(batchInput(operands, params), setAuditKeyAndLockTimeout(keyId))
  return toStatement(write, [...params, ...shared, keyId]).text
}

/** Unnests one array for each operand into a row for each run. */
export function batchInput(operands: readonly Operand[], params: readonly Param[]): BatchInput {
  // Types without the limits of the column: they would round a filter's number to the column's scale.
  const arrays = operands.map(({ type }, index) => sql`${params[index] as Param}::${typeName(type.replace(/\(.*?\)/, ''))}[]`)
  const names = operands.map((_, index) => sql`"V${integer(index + 1)}"`)
  const from = sql`unnest(${commaList(arrays)}) with ordinality as b(${commaList([...names, sql`"N"`])})`
  return { from, arrays }
}

/** Returns a function that maps an operand to the column of `b` with its value in each run. Other parameters stay. */
export function columnOf(operands: readonly Operand[]): (param: Param) => Sql {
  return (param) => {
    const number = operands.findIndex((operand) => operand.param === param) + 1
    return number === 0 ? sql`${param}` : sql`b."V${integer(number)}"`
  }
}

export function commaList(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}

/** Sets `roster.key` for the transaction, in a condition that is always true. */
export function setAuditKey(keyId: Param): Sql {
  return sql`(select set_config('roster.key', ${keyId}, true)) is not null`
}

/** As `setAuditKey`, for a batch, which waits at most `BATCH_LOCK_MS_MAX` for locks. */
function setAuditKeyAndLockTimeout(keyId: Param): Sql {
  const timeout = sql`set_config('lock_timeout', '${integer(BATCH_LOCK_MS_MAX)}', true)`
  return sql`(select ${timeout} || set_config('roster.key', ${keyId}, true)) is not null`
}
