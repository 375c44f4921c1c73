// Loads a copy: reads a whole table in one snapshot, over its own connection, so that no other statement waits.
import type postgres from 'postgres'
import { inTransaction, openFirst } from '../execute/connect.ts'
import { parametersOf } from '../execute/driver.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Statement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import { type TakeLine, takePieces } from './copyPieces.ts'
import { BEGIN_RUN, compileLoadedState, compileRowsAfter, compileSample, Snapshot } from './statements.ts'

/** The snapshot in which a table was read, and the state of the table. */
export interface LoadedState {
  readonly snapshot: Snapshot
  /** Number of the table in `pg_class`. */
  readonly relation: string
  readonly state: string
  readonly definition: string
}

/** Called before the rows with their estimated number and the sample; returns the function that takes each row. It may throw. */
export type Begin = (rows: number, sample: readonly (string | null)[]) => TakeLine

/** Thrown for a table whose change lines would not tell of every write. */
export class NotRecorded extends Error {}

/** Maximum time of a load. Many millions of rows take minutes, during which PostgreSQL cannot remove old row versions. */
const READ_MS_MAX = 300_000
/** Approximate number of values in a sample. */
const SAMPLE_ROWS = 20_000
/** Estimated bytes of the table's file for a row, if the table was never analyzed. */
const ROW_BYTES = 100
/** Rows of a piece, which the driver processes in some milliseconds. */
const PIECE_ROWS = 8_000
/** Closes a connection that the driver opened after the load was given up. */
const IDLE_S_MAX = 10

/**
 * Reads all rows in the order of their ids. The connection is used for nothing else, because the driver's COPY may hang after an
 * error (porsager/postgres#917). `sampled`: property of the sample that `begin` gets. @throws NotRecorded; errors of `begin`, of
 * the function that it returns, and of the driver
 */
export async function readTable(url: string, entity: Entity, sampled: Property | null, begin: Begin): Promise<LoadedState> {
  const settings = { application_name: 'roster/memory', TimeZone: 'UTC', DateStyle: 'ISO' }
  const connection = await openFirst(url, { idle_timeout: IDLE_S_MAX, connection: settings })
  const load = async () => {
    await connection.unsafe(BEGIN_RUN)
    const work = (transaction: postgres.TransactionSql) => readWithin(transaction, entity, sampled, begin)
    return await inTransaction(connection, work, 'isolation level repeatable read read only')
  }
  const late = () => {
    throw new Error(`its load takes more than ${READ_MS_MAX / 60_000} minutes`)
  }
  try {
    return await withDeadline(load(), READ_MS_MAX, late)
  } finally {
    await connection.end({ timeout: 0 })
  }
}

async function readWithin(
  transaction: postgres.TransactionSql,
  entity: Entity,
  sampled: Property | null,
  begin: Begin,
): Promise<LoadedState> {
  const ask = async (statement: Statement) =>
    (await transaction.unsafe(statement.text, parametersOf(statement)).values()) as unknown as (string | null)[][]
  // Set within the transaction, since a pooler refuses settings at connection start. Without sorts each piece is found by the
  // index of ids, whatever the planner estimates.
  await transaction.unsafe(`set local enable_sort = off; set local statement_timeout = ${READ_MS_MAX}`)
  const [row] = await ask(compileLoadedState(entity))
  const [text, relation, state, keptFrom, definition, rows, bytes] = (row ?? []) as string[]
  if (!definition) throw new NotRecorded(`changes of ${entity.table} are not recorded`)
  const snapshot = new Snapshot(text as string)
  if (Number(keptFrom) > snapshot.oldest) throw new Error('a transaction that was prepared before a crash is open')
  const rowsByBytes = Number(bytes) / ROW_BYTES
  const percent = Math.min(100, (100 * SAMPLE_ROWS) / Math.max(1, rowsByBytes))
  const sample = sampled ? await ask(compileSample(entity, sampled, percent)) : []
  const values = sample.map(([value]) => value ?? null)
  const take = begin(Number(rows) < 0 ? rowsByBytes : Number(rows), values)
  await takePieces(transaction, (last) => compileRowsAfter(entity, last, PIECE_ROWS), take)
  return { snapshot, relation: relation as string, state: state as string, definition }
}
