// Reads a table by COPY, in pieces of some thousand rows. All rows of a piece arrive in one turn of the event loop. They are
// processed in small steps, between which other requests are served.
import { setImmediate } from 'node:timers/promises'
import type postgres from 'postgres'
import { TAB } from '../columns/copyText.ts'
import { KernelFull } from '../columns/kernel.ts'
import { openCopy, resumeAfterCopy } from '../execute/driver.ts'
import type { Statement } from '../model/sql.ts'

/** Processes one row, given as a line of COPY's text format: `bytes[from, to)`, without the newline. */
export type ProcessLine = (bytes: Uint8Array, from: number, to: number) => void

/**
 * Returns the COPY statement that reads the piece after the row with the id `last`. If `last` is null, it reads the first piece.
 */
type CompileNextPiece = (last: string | null) => Statement

/** Number of rows after which a step looks at the clock. */
const STEP_ROWS = 250
/**
 * Minimum time of a step. Up to `STEP_MS_MAX`, a step takes as long as the pause before it, in which other requests are served.
 * So the pauses at most double the time of a load.
 */
const STEP_MS_MIN = 3
/** Maximum time of a step. */
const STEP_MS_MAX = 20
/** Time without data after which PostgreSQL counts as unreachable. */
const IDLE_MS_MAX = 10_000

/** Maximum bytes of a piece. A table with a larger piece stays out of memory. */
const PIECE_BYTES_MAX = 64 * 2 ** 20
/** Number of pieces after which the garbage collector is called. */
const COLLECTED_PIECES = 16

const NEWLINE = 10

/**
 * Reads all rows of a table, piece by piece, until a piece is empty. While the rows of a piece are processed, PostgreSQL prepares
 * the next piece.
 */
export async function readByCopy(transaction: postgres.TransactionSql, compileNext: CompileNextPiece, processLine: ProcessLine) {
  const readNext = (last: string | null): Promise<Uint8Array[]> => {
    const reading = readPiece(transaction, compileNext(last))
    // The error is thrown later, where the piece is awaited. Until then, this handler marks the rejection as handled.
    reading.catch(() => undefined)
    return reading
  }
  let reading = readNext(null)
  for (let pieces = 1; ; pieces++) {
    const piece = await reading
    const last = piece.at(-1)
    if (last === undefined) return
    reading = readNext(lastIdOf(last))
    // Waits until the next COPY is sent: the driver queues it in this turn of the event loop, and sends it in the next turn.
    await setImmediate()
    await setImmediate()
    await processInSteps(piece, processLine)
    // Pieces are stored outside of the heap, so the garbage collector does not notice how much memory they use.
    if (pieces % COLLECTED_PIECES === 0) Bun.gc(false)
  }
}

async function processInSteps(piece: readonly Uint8Array[], processLine: ProcessLine) {
  let count = 0
  let untilMs = performance.now() + STEP_MS_MIN
  for (const bytes of piece) {
    let from = 0
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      processLine(bytes, from, to)
      from = to + 1
      const nowMs = ++count % STEP_ROWS === 0 ? performance.now() : 0
      if (nowMs < untilMs) continue
      await setImmediate()
      const endMs = performance.now()
      untilMs = endMs + Math.min(Math.max(endMs - nowMs, STEP_MS_MIN), STEP_MS_MAX)
    }
  }
}

/** Returns the id of the last row of a chunk. The id is the first field of a line. */
function lastIdOf(bytes: Uint8Array): string {
  const from = bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1
  return String.fromCharCode(...bytes.subarray(from, bytes.indexOf(TAB, from)))
}

/**
 * Reads a piece as chunks that hold whole lines, since PostgreSQL sends each row as one message. Uses events, because `for await`
 * over the driver's stream may never end.
 */
async function readPiece(transaction: postgres.TransactionSql, { text }: Statement): Promise<Uint8Array[]> {
  const stream = await openCopy(transaction, text)
  const rows = Promise.withResolvers<void>()
  const timer = setTimeout(() => stream.destroy(new Error('PostgreSQL sends no more rows')), IDLE_MS_MAX)
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
