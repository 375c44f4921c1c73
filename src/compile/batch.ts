// Batches: one statement that executes several runs of the same text, with arrays as values. Also the settings of a write's
// transaction: the id of the API key, which triggers of the database copy into change events (D77), and the lock timeout of a
// batch.
import { BATCH_LOCK_MS_MAX, type Batch } from '../model/batch.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement, typeName } from '../model/sql.ts'

/** Parameter of a statement, and the SQL type of its value. */
export interface Operand {
  readonly param: Param
  readonly type: string
}

/** The runs of a batch in SQL. */
export interface BatchInput {
  /**
   * The `from` clause: rows `b`, one for each run. A row has the run's values as "V1", "V2" and so on, and the run's number "N",
   * from 1. These names have capitals, so they cannot clash with columns of an entity.
   */
  readonly from: Sql
  /** Arrays of values, in the order of the operands. */
  readonly arrays: readonly Sql[]
}

/**
 * Compiles the batch form of a read. A lateral join executes `query` once for each run, so the rows of one run keep the order of
 * `query`.
 */
export function compileBatchQuery(query: Sql, operands: readonly Operand[]): Batch {
  // Text operands may only be compared for equality: a parameter takes the collation of the column that it is compared with, but
  // a column of the runs does not.
  const inner = replaceParams(query, columnOf(operands))
  const params = operands.map(() => param(null))
  const { from } = batchInput(operands, params)
  const { text } = toStatement(sql`select r.*, b."N" from ${from} cross join lateral (${inner}) as r`, params)
  return { text, matchBy: 'number', distinct: null }
}

/**
 * Returns the text of a write of several runs. Its parameters are an array for each operand, then the values that all runs share,
 * then the API key. `compile` gets the runs, and `settings`: a condition that is always true, and that sets the API key and the
 * lock timeout.
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
  // Leaves out the precision and scale of a type. With them, PostgreSQL would round a filter's number to the scale of the column.
  const arrays = operands.map(({ type }, index) => sql`${params[index] as Param}::${typeName(type.replace(/\(.*?\)/, ''))}[]`)
  const names = operands.map((_, index) => sql`"V${integer(index + 1)}"`)
  const from = sql`unnest(${commaList(arrays)}) with ordinality as b(${commaList([...names, sql`"N"`])})`
  return { from, arrays }
}

/**
 * Returns a function that replaces an operand's parameter by the column of `b` that has the operand's values. A parameter without
 * an operand stays as it is.
 */
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

/** Sets `roster.key` and the lock timeout of a batch, `BATCH_LOCK_MS_MAX`, in a condition that is always true. */
function setAuditKeyAndLockTimeout(keyId: Param): Sql {
  const timeout = sql`set_config('lock_timeout', '${integer(BATCH_LOCK_MS_MAX)}', true)`
  return sql`(select ${timeout} || set_config('roster.key', ${keyId}, true)) is not null`
}
