// Bodies sent at the speed of the client: streams with gzip and a time limit for slow clients; long bodies in pieces.
import { constants, createGzip, type Gzip } from 'node:zlib'
import { PAID_ROWS, StreamPace, TEXT_ROWS } from '../operations/streams.ts'
import type { Reply, Streamed } from '../respond/reply.ts'

/** A client that reads nothing for this time is disconnected. */
const STALL_MS = 30_000
/** Maximum stalls of a slow client: it may take at most twice as long for the texts of 1,000 rows. D55 */
const STALLS_MAX = 2
const STALL_TEXTS = PAID_ROWS / TEXT_ROWS
/** Level of zlib beyond which rows shrink little and cost much. */
const GZIP_LEVEL = 4

/** Functions that break off the streams of this process, one for each stream that has not ended. */
const open = new Set<() => void>()

/** Breaks off all streams with an error. A stream that is just closed would look whole to a client of HTTP/1.0. */
export function breakOffStreams(): void {
  for (const breakOff of open) breakOff()
}

interface Watch {
  readonly request: { readonly signal: AbortSignal }
  /** Returns the last line, which says what ended the stream; '' to break the connection instead. */
  faultLine(error: unknown): string
  /** Called once at the end. `isWhole`: the client has taken every row. */
  onEnd(bytes: number, isWhole: boolean): void
  readonly stallMs?: number
}

/**
 * Streams a body: each text is made when the client has taken the one before, so that other requests run in between. After an
 * error a last line says so, or the connection breaks, so that no part of a list can be taken for the whole.
 */
export function streamBody(streamed: Streamed, watch: Watch): ReadableStream<Uint8Array> {
  const { texts, isGzipped, slot } = streamed
  const { request, stallMs = STALL_MS } = watch
  const encoder = isGzipped ? new GzipEncoder() : new TextEncoder()
  const pace = new StreamPace()
  let controller: ReadableStreamDefaultController<Uint8Array>
  let bytes = 0
  let isEnded = false
  /** True while the last text is being made, which nothing may follow. */
  let isEnding = false
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Time for which a slow client may still keep the stream waiting; it is renewed every 1,000 rows. */
  let leftMs = STALLS_MAX * stallMs
  let turns = 0

  function end(isWhole: boolean) {
    if (isEnded) return
    isEnded = true
    open.delete(breakOff)
    clearTimeout(timer)
    request.signal.removeEventListener('abort', leave)
    if (encoder instanceof GzipEncoder) encoder.close()
    slot.release()
    texts.return(undefined).catch(() => undefined)
    watch.onEnd(bytes, isWhole)
  }
  const leave = () => end(false)

  /** Starts the timeout in which the client must read. */
  function beginWait() {
    slot.idleSinceMs = performance.now()
    timer = setTimeout(breakOff, Math.min(leftMs, stallMs))
  }

  function endWait() {
    clearTimeout(timer)
    leftMs -= performance.now() - (slot.idleSinceMs as number)
    slot.idleSinceMs = null
    if (++turns % STALL_TEXTS === 0) leftMs = STALLS_MAX * stallMs
  }

  async function send(text: string) {
    const piece = await encoder.encode(text)
    if (isEnded) return
    bytes += piece.length
    controller.enqueue(piece)
    beginWait()
  }

  async function finish(isWhole: boolean) {
    isEnding = true
    const tail = encoder instanceof GzipEncoder ? await encoder.encode('', constants.Z_FINISH) : null
    if (isEnded) return
    // The tail has gzip's checksum.
    if (tail !== null) controller.enqueue(tail)
    controller.close()
    end(isWhole)
  }

  function breakOff() {
    if (isEnded) return
    end(false)
    controller.error(new Error('a stream ended early'))
  }

  async function fail(error: unknown) {
    if (isEnded || isEnding) return
    isEnding = true
    const line = watch.faultLine(error)
    if (line === '') return breakOff()
    clearTimeout(timer)
    await send(line)
    await finish(false)
  }

  request.signal.addEventListener('abort', leave)
  if (request.signal.aborted) leave()
  return new ReadableStream(
    {
      start(own) {
        controller = own
        // The client may have left before the stream starts.
        if (isEnded) return
        open.add(breakOff)
        slot.onEvict = fail
        beginWait()
      },
      async pull() {
        endWait()
        try {
          await pace.turn()
          const startMs = performance.now()
          const next = await texts.next()
          pace.note(performance.now() - startMs)
          // Meanwhile the client may have left, or the stream was evicted.
          if (isEnded || isEnding) return
          await (next.done ? finish(true) : send(next.value))
        } catch (error) {
          await fail(error)
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

/** Compresses texts one by one, and flushes after each, so that the client can read it at once. */
class GzipEncoder {
  private readonly gzip: Gzip = createGzip({ level: GZIP_LEVEL })
  private readonly pieces: Buffer[] = []

  constructor() {
    this.gzip.on('data', (piece: Buffer) => this.pieces.push(piece))
  }

  encode(text: string, flush = constants.Z_SYNC_FLUSH): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.gzip.write(text)
      this.gzip.flush(flush, () => resolve(Buffer.concat(this.pieces.splice(0))))
    })
  }

  /** Frees zlib's memory, which the garbage collector does not see. */
  close(): void {
    this.gzip.destroy()
  }
}

type WholeBody = Exclude<Reply['body'], Streamed>

const PIECE_BYTES = 64 * 1024
/** Maximum length of a body that is sent in one piece. */
const WHOLE_BYTES_MAX = 512 * 1024

/**
 * Splits a long body into pieces, each made when the client has taken the one before: Bun copies all that a client has not taken,
 * so hundreds of slow clients of the docs' script would fill the memory.
 */
export function chunked(body: WholeBody, method: string): WholeBody | ReadableStream<Uint8Array> {
  if (body === null || typeof body === 'string' || body.length <= WHOLE_BYTES_MAX || method === 'HEAD') return body
  let at = 0
  return new ReadableStream(
    {
      pull(controller) {
        if (at >= body.length) return controller.close()
        controller.enqueue(body.subarray(at, at + PIECE_BYTES))
        at += PIECE_BYTES
      },
    },
    { highWaterMark: 0 },
  )
}
