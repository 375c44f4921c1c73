// The load of a copy: reads a whole table as of one snapshot, over a connection that no other statement waits for.
import type postgres from 'postgres'
import { inTransaction, openFirst } from '../execute/connect.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Statement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import { type TakeLine, takePieces } from './copyPieces.ts'
import { BEGIN_RUN, compileMoment, compileRowsBehind, compileSample, Snapshot } from './statements.ts'

/** The snapshot as of which a table was read, and the state of the table. */
export interface LoadedState {
  readonly snapshot: Snapshot
  /** The table's number. */
  readonly relation: string
  readonly state: string
  readonly definition: string
}

/** Called before the rows, with about how many there are and the sample; returns what takes each row. It may throw. */
export type Begin = (rows: number, sample: readonly (string | null)[]) => TakeLine

/** A table cannot be kept current: its lines of changes would not tell of every write. */
export class NotRecorded extends Error {}

/** A table of many millions of rows takes minutes, during which its old row versions stay. */
const READ_MS_MAX = 300_000
/** About how many values a sample has. */
const SAMPLE_ROWS = 20_000
/** An estimate: a row of a table that was never analyzed, in bytes of the table's file. */
const ROW_BYTES = 100
/** Rows that are read at once: the driver takes some milliseconds for them. */
const PIECE_ROWS = 8_000
/** Closes a connection that the driver opens after its host was given up. */
const IDLE_S_MAX = 10

/**
 * Reads all rows in the order of their ids, over a connection of its own: the driver's COPY may hang on it after an error
 * (porsager/postgres#917). `sampled`: the property of the sample that `begin` gets.
 * @throws NotRecorded; errors of `begin`, of the function that it returns, and of the driver
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
  const ask = async ({ text, values }: Statement) =>
    (await transaction.unsafe(text, values as string[]).values()) as unknown as (string | null)[][]
  // Within the transaction, since a pooler refuses settings at the start. Each piece is found by the index of its ids,
  // whatever the planner knows of the table.
  await transaction.unsafe(`set local enable_sort = off; set local statement_timeout = ${READ_MS_MAX}`)
  const [row] = await ask(compileMoment(entity))
  const [text, relation, state, keptFrom, definition, rows, bytes] = (row ?? []) as string[]
  if (!definition) throw new NotRecorded(`changes of ${entity.table} are not recorded`)
  const snapshot = new Snapshot(text as string)
  if (Number(keptFrom) > snapshot.oldest) throw new Error('a transaction that was prepared before a crash is open')
  const rowsByBytes = Number(bytes) / ROW_BYTES
  const percent = Math.min(100, (100 * SAMPLE_ROWS) / Math.max(1, rowsByBytes))
  const sample = sampled ? await ask(compileSample(entity, sampled, percent)) : []
  const values = sample.map(([value]) => value ?? null)
  const take = begin(Number(rows) < 0 ? rowsByBytes : Number(rows), values)
  await takePieces(transaction, (last) => compileRowsBehind(entity, last, PIECE_ROWS), take)
  return { snapshot, relation: relation as string, state: state as string, definition }
}
