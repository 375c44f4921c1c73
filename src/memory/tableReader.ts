// The load of a copy: reads a whole table as of one snapshot by COPY, over a connection that no other statement waits for.
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type postgres from 'postgres'
import { TAB } from '../columns/copyText.ts'
import { connectTo } from '../execute/connect.ts'
import type { Entity } from '../model/entity.ts'
import { BEGIN_RUN, compileMoment, compileRowsBehind, Snapshot } from './statements.ts'

/** The snapshot as of which a table was read, and the state of the table. */
export interface Moment {
  readonly snapshot: Snapshot
  /** The table's number. */
  readonly relation: string
  readonly state: string
  readonly definition: string
}

/** Gets each row as a line of COPY's text format: `bytes[from, to)`, without the newline. */
type TakeLine = (bytes: Uint8Array, from: number, to: number) => void

/** Called before the rows, with about how many there are; returns the function that takes each row. It may throw. */
type Begin = (rows: number) => TakeLine

/** A table cannot be kept current: its lines of changes would not tell of every write. */
export class NotRecorded extends Error {}

/** A table of many millions of rows takes minutes, during which its old row versions stay. */
const READ_MS_MAX = 300_000
/** An estimate: a row of a table that was never analyzed, in bytes of the table's file. */
const ROW_BYTES = 100
/** Rows that are read at once: the driver takes some milliseconds for them. */
const PIECE_ROWS = 8_000
/** Rows that are taken in in one turn of the event loop: some milliseconds. */
const TURN_ROWS = 1_000
/** Time without data after which PostgreSQL counts as away. */
const SILENT_MS_MAX = 10_000
/** Pieces after which their memory is collected. */
const COLLECTED_PIECES = 16
const NEWLINE = 10

/** The connection of one load. */
export function connectForLoad(url: string): postgres.Sql {
  const connection = { application_name: 'roster/memory', TimeZone: 'UTC', DateStyle: 'ISO' }
  return connectTo(url, { max: 1, prepare: false, connection })
}

/**
 * Reads all rows in the order of their ids, and closes the connection: after an error the driver's COPY may hang on it
 * (porsager/postgres#917). @throws NotRecorded; errors of `begin`, of the function that it returns, and of the driver
 */
export async function readTable(connection: postgres.Sql, entity: Entity, begin: Begin): Promise<Moment> {
  const close = () => connection.end({ timeout: 0 })
  const { promise, resolve, reject } = Promise.withResolvers<Moment>()
  const work = (transaction: postgres.TransactionSql) =>
    readWithin(transaction, entity, begin).catch(async (error) => {
      // First, since the driver's own error, at its rollback, would take its place.
      reject(error)
      // Before the driver's rollback, whose write to a connection that is lost would be an uncaught fault of the process.
      await close()
      throw error
    })
  try {
    await connection.unsafe(BEGIN_RUN)
    connection.begin('isolation level repeatable read read only', work).then((moment) => resolve(moment as Moment), reject)
    return await promise
  } finally {
    await close()
  }
}

async function readWithin(transaction: postgres.TransactionSql, entity: Entity, begin: Begin): Promise<Moment> {
  // Within the transaction, since a pooler refuses settings at the start. Each piece is found by the index of its ids,
  // whatever the planner knows of the table.
  await transaction.unsafe(`set local enable_sort = off; set local statement_timeout = ${READ_MS_MAX}`)
  const { text, values } = compileMoment(entity)
  const [row = []] = (await transaction.unsafe(text, values as string[]).values()) as unknown as string[][]
  const [snapshot, relation, state, definition, rows, bytes] = row as [string, string, string, string, string, string]
  if (!definition) throw new NotRecorded(`changes of ${entity.table} are not recorded`)
  const take = begin(Number(rows) < 0 ? Number(bytes) / ROW_BYTES : Number(rows))
  await takePieces((last) => readPiece(transaction, compileRowsBehind(entity, last, PIECE_ROWS).text), take)
  return { snapshot: new Snapshot(snapshot), relation, state, definition }
}

/**
 * Takes the rows of one COPY after the other, up to one without rows. PostgreSQL prepares the next piece while one is taken
 * in, and other work of the process has its turn between. `read`: reads the piece behind an id; null: the first one.
 */
async function takePieces(read: (last: string | null) => Promise<Uint8Array[]>, take: TakeLine) {
  let reading = read(null)
  for (let taken = 1; ; taken++) {
    const piece = await reading
    const last = piece.at(-1)
    if (last === undefined) return
    reading = read(lastIdOf(last))
    // Awaited once this piece is taken in, which may throw.
    reading.catch(() => undefined)
    // The driver takes it up in this turn, and sends it in the next one.
    await setImmediate()
    await setImmediate()
    let count = 0
    for (const bytes of piece) {
      let from = 0
      for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
        take(bytes, from, to)
        from = to + 1
        if (++count % TURN_ROWS === 0) await setImmediate()
      }
    }
    // The pieces lie outside of the heap, so the collector does not see how much is left of them.
    if (taken % COLLECTED_PIECES === 0) Bun.gc(false)
  }
}

/** Returns the id at the begin of the last line. */
function lastIdOf(bytes: Uint8Array): string {
  const from = bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1
  return String.fromCharCode(...bytes.subarray(from, bytes.indexOf(TAB, from)))
}

/** In whole lines: PostgreSQL sends each row by itself. By events: the driver's stream, read by `for await`, may never end. */
async function readPiece(transaction: postgres.TransactionSql, text: string): Promise<Uint8Array[]> {
  const stream: Readable = await transaction.unsafe(text).readable()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => stream.destroy(new Error('PostgreSQL sends no more rows')), SILENT_MS_MAX)
  const chunks: Uint8Array[] = []
  stream.on('data', (chunk: Uint8Array) => {
    timer.refresh()
    chunks.push(chunk)
  })
  stream.on('error', reject)
  stream.on('end', () => {
    // The driver pauses its socket for a stream that is full, and goes on when asked for more: not if these were the last rows.
    stream._read(0)
    resolve()
  })
  return promise.then(() => chunks).finally(() => clearTimeout(timer))
}
