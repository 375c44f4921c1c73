// Rows by COPY, some thousand at a time: all that one read of the socket brings is handled in one turn of the event loop.
import { setImmediate } from 'node:timers/promises'
import type postgres from 'postgres'
import { TAB } from '../columns/copyText.ts'
import { KernelFull } from '../columns/kernel.ts'
import { openCopy, resumeAfterCopy } from '../execute/driver.ts'
import type { Statement } from '../model/sql.ts'

/** Gets each row as a line of COPY's text format: `bytes[from, to)`, without the newline. */
export type TakeLine = (bytes: Uint8Array, from: number, to: number) => void

/** The next statement of a reading, by the last id of the one before; null: of the first. */
type Following = (last: string | null) => Statement

/** Rows between two looks at the clock. */
const TURN_ROWS = 250
/** A turn of the event loop is as long as others had theirs: lists make a load take twice as long, not more. */
const [TURN_MS_MIN, TURN_MS_MAX] = [3, 20]
/** Time without data after which PostgreSQL counts as away. */
const SILENT_MS_MAX = 10_000

/** The rows of tables that are longer in the mean are in no memory. */
const PIECE_BYTES_MAX = 64 * 2 ** 20
/** Pieces after which their memory is collected. */
const COLLECTED_PIECES = 16

const NEWLINE = 10

/** Takes rows by one COPY after the other, up to one without rows; PostgreSQL prepares the next piece meanwhile. */
export async function takePieces(transaction: postgres.TransactionSql, following: Following, take: TakeLine) {
  const readNext = (last: string | null): Promise<Uint8Array[]> => {
    const reading = readPiece(transaction, following(last))
    // Awaited once the piece before is taken in, which may throw.
    reading.catch(() => undefined)
    return reading
  }
  let reading = readNext(null)
  for (let taken = 1; ; taken++) {
    const piece = await reading
    const last = piece.at(-1)
    if (last === undefined) return
    reading = readNext(lastIdOf(last))
    // The driver takes it up in this turn, and sends it in the next one.
    await setImmediate()
    await setImmediate()
    await takeSlowly(piece, take)
    // The pieces lie outside of the heap, so the collector does not see how much is left of them.
    if (taken % COLLECTED_PIECES === 0) Bun.gc(false)
  }
}

async function takeSlowly(piece: readonly Uint8Array[], take: TakeLine) {
  let count = 0
  let untilMs = performance.now() + TURN_MS_MIN
  for (const bytes of piece) {
    let from = 0
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      take(bytes, from, to)
      from = to + 1
      const nowMs = ++count % TURN_ROWS === 0 ? performance.now() : 0
      if (nowMs < untilMs) continue
      await setImmediate()
      const endMs = performance.now()
      untilMs = endMs + Math.min(Math.max(endMs - nowMs, TURN_MS_MIN), TURN_MS_MAX)
    }
  }
}

/** Returns the id at the begin of the last line. */
function lastIdOf(bytes: Uint8Array): string {
  const from = bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1
  return String.fromCharCode(...bytes.subarray(from, bytes.indexOf(TAB, from)))
}

/** In whole lines: PostgreSQL sends each row by itself. By events: the driver's stream, read by `for await`, may never end. */
async function readPiece(transaction: postgres.TransactionSql, { text }: Statement): Promise<Uint8Array[]> {
  const stream = await openCopy(transaction, text)
  const rows = Promise.withResolvers<void>()
  const timer = setTimeout(() => stream.destroy(new Error('PostgreSQL sends no more rows')), SILENT_MS_MAX)
  const chunks: Uint8Array[] = []
  let bytes = 0
  stream.on('data', (chunk: Uint8Array) => {
    timer.refresh()
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > PIECE_BYTES_MAX) stream.destroy(new KernelFull('rows are too long'))
  })
  stream.on('error', rows.reject)
  stream.on('end', () => {
    resumeAfterCopy(stream)
    rows.resolve()
  })
  try {
    await rows.promise
  } finally {
    clearTimeout(timer)
  }
  return chunks
}
