// Reads tables for copies: all rows in one snapshot, or the texts of a property in their order. Each read opens a connection, so
// that statements of requests do not wait for it.
import type postgres from 'postgres'
import { inTransaction, openFirst } from '../execute/connect.ts'
import { parametersOf } from '../execute/driver.ts'
import { LIST_LOCK_MS_MAX } from '../execute/limits.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Statement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import { type ProcessLine, readByCopy } from './copyPieces.ts'
import { BEGIN_RUN, compileLoadedState, compileRowCount, compileRowsAfter, compileTextOrder, Snapshot } from './statements.ts'

/** The snapshot in which a table was read, and the state of the table in it. */
export interface LoadedState {
  readonly snapshot: Snapshot
  /** Number of the table in `pg_class`. */
  readonly relation: string
  readonly state: string
  readonly definition: string
}

/**
 * Called before the first row, with the number of rows. Returns the function that processes each row. Both functions may throw.
 */
export type Begin = (rows: number) => ProcessLine

/** Thrown for a table whose change lines would miss some writes. */
export class NotRecorded extends Error {}

/** Maximum time of a load. Many millions of rows take minutes, during which PostgreSQL cannot remove old row versions. */
const READ_MS_MAX = 300_000
/** Maximum time to read the order of texts, long enough for the largest number of texts that a property can have. */
const ORDER_MS_MAX = 120_000
/** Number of rows of a piece. The driver processes them in some milliseconds. */
const PIECE_ROWS = 8_000
/** Number of texts that are fetched at once. The driver processes them in about a millisecond. */
const FETCHED_TEXTS = 1_000
/** Seconds without use after which a connection closes, even if the driver opened it after the load was given up. */
const IDLE_S_MAX = 10

/**
 * Reads all rows in the order of their ids. Counts at most `rowsMax` rows for `begin`, because to count all rows may take long.
 * @throws NotRecorded; errors of `begin`, of the function that it returns, and of the driver
 */
export function readTable(url: string, entity: Entity, rowsMax: number, begin: Begin): Promise<LoadedState> {
  return withOwnConnection(url, READ_MS_MAX, async (connection) => {
    await connection.unsafe(BEGIN_RUN)
    const work = (transaction: postgres.TransactionSql) => readWithin(transaction, entity, rowsMax, begin)
    return await inTransaction(connection, work, 'isolation level repeatable read read only')
  })
}

/** Reads the distinct texts of a property in the order of its collation. @throws errors of `onText` and of the driver */
export function readTexts(url: string, entity: Entity, property: Property, onText: (text: string) => void): Promise<void> {
  return withOwnConnection(url, ORDER_MS_MAX, (connection) => {
    const work = async (transaction: postgres.TransactionSql) => {
      const limits = `set local statement_timeout = ${ORDER_MS_MAX}; set local lock_timeout = ${LIST_LOCK_MS_MAX}`
      await transaction.unsafe(`${limits}; set local cursor_tuple_fraction = 1`)
      await transaction.unsafe(compileTextOrder(entity, property).text)
      // With COPY, the driver would process all arrived texts at once, and meanwhile block the event loop.
      const nextTexts = () => transaction.unsafe(`fetch ${FETCHED_TEXTS} from texts`).values() as unknown as Promise<string[][]>
      for (let rows = await nextTexts(); rows.length > 0; rows = await nextTexts())
        for (const [text] of rows) onText(text as string)
    }
    return inTransaction(connection, work, 'read only')
  })
}

/** Reads over a new connection, because the driver's COPY may hang after an error (porsager/postgres#917). */
async function withOwnConnection<Result>(
  url: string,
  msMax: number,
  read: (connection: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const settings = { application_name: 'roster/memory', TimeZone: 'UTC', DateStyle: 'ISO' }
  const connection = await openFirst(url, { idle_timeout: IDLE_S_MAX, connection: settings })
  const late = () => {
    throw new Error(`reading it takes more than ${msMax / 60_000} minutes`)
  }
  try {
    return await withDeadline(read(connection), msMax, late)
  } finally {
    await connection.end({ timeout: 0 })
  }
}

async function readWithin(
  transaction: postgres.TransactionSql,
  entity: Entity,
  rowsMax: number,
  begin: Begin,
): Promise<LoadedState> {
  const ask = async (statement: Statement) => {
    const [row = []] = await transaction.unsafe(statement.text, parametersOf(statement)).values()
    return row as unknown as string[]
  }
  // Set within the transaction, since a pooler refuses settings at connection start. With sorts disabled, PostgreSQL finds each
  // piece by the index of ids, whatever the planner estimates.
  await transaction.unsafe(`set local enable_sort = off; set local statement_timeout = ${READ_MS_MAX}`)
  const [text = '', relation = '', state = '', keptFrom, definition] = await ask(compileLoadedState(entity))
  if (!definition) throw new NotRecorded(`changes of ${entity.table} are not recorded`)
  const snapshot = new Snapshot(text)
  if (Number(keptFrom) > snapshot.oldest) throw new Error('a transaction that was prepared before a crash is open')
  const [rows] = await ask(compileRowCount(entity, rowsMax))
  const processLine = begin(Number(rows))
  await readByCopy(transaction, (last) => compileRowsAfter(entity, last, PIECE_ROWS), processLine)
  return { snapshot, relation, state, definition }
}
