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

interface Watch {
  readonly request: { readonly signal: AbortSignal }
  /** The line that says what ended it; '': none, and the connection breaks. */
  faultLine(error: unknown): string
  /** Called once. `isWhole`: the client has taken every row. */
  onEnd(bytes: number, isWhole: boolean): void
  readonly stallMs?: number
}

/**
 * Makes each text when the client has taken the one before; other requests come between two of them. A fault adds a line, or cuts
 * the body off, so that no part of a list can be taken for the whole.
 */
export function streamBody(streamed: Streamed, watch: Watch): ReadableStream<Uint8Array> {
  const { texts, isGzipped, place } = streamed
  const { request, stallMs = STALL_MS } = watch
  const encoder = isGzipped ? new GzipEncoder() : new TextEncoder()
  const patience = new Patience(stallMs)
  const pace = new StreamPace()
  let bytes = 0
  let isEnded = false

  function end(isWhole: boolean) {
    if (isEnded) return
    isEnded = true
    patience.end()
    request.signal.removeEventListener('abort', leave)
    if (encoder instanceof GzipEncoder) encoder.close()
    place.release()
    texts.return(undefined).catch(() => undefined)
    watch.onEnd(bytes, isWhole)
  }
  const leave = () => end(false)

  /** Starts the time in which the client has to read. */
  function waitFor(controller: ReadableStreamDefaultController<Uint8Array>) {
    place.idleSinceMs = performance.now()
    patience.begin(() => breakOff(controller))
  }

  async function send(controller: ReadableStreamDefaultController<Uint8Array>, text: string) {
    const piece = await encoder.encode(text)
    if (isEnded) return
    bytes += piece.length
    controller.enqueue(piece)
    waitFor(controller)
  }

  async function finish(controller: ReadableStreamDefaultController<Uint8Array>, isWhole: boolean) {
    const tail = encoder instanceof GzipEncoder ? await encoder.end() : null
    if (isEnded) return
    if (tail !== null) controller.enqueue(tail)
    controller.close()
    end(isWhole)
  }

  function breakOff(controller: ReadableStreamDefaultController<Uint8Array>) {
    if (isEnded) return
    end(false)
    controller.error(new Error('a stream ended early'))
  }

  async function fail(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown) {
    if (isEnded) return
    const line = watch.faultLine(error)
    if (line === '') return breakOff(controller)
    await send(controller, line)
    patience.end()
    await finish(controller, false)
  }

  request.signal.addEventListener('abort', leave)
  if (request.signal.aborted) leave()
  return new ReadableStream(
    {
      start(controller) {
        place.onEvict = (error) => fail(controller, error)
        waitFor(controller)
      },
      async pull(controller) {
        patience.end()
        place.idleSinceMs = null
        try {
          await pace.turn()
          const startMs = performance.now()
          const next = await texts.next()
          pace.note(performance.now() - startMs)
          if (isEnded) return
          await (next.done ? finish(controller, true) : send(controller, next.value))
        } catch (error) {
          await fail(controller, error)
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

/** The time that a slow client has left; it starts again every 1,000 rows. */
class Patience {
  private timer: ReturnType<typeof setTimeout> | undefined
  private beganMs = 0
  private leftMs: number
  private turns = 0

  constructor(private readonly stallMs: number) {
    this.leftMs = STALLS_MAX * stallMs
  }

  begin(onOver: () => void): void {
    this.beganMs = performance.now()
    this.timer = setTimeout(onOver, Math.min(this.leftMs, this.stallMs))
  }

  end(): void {
    if (this.timer === undefined) return
    clearTimeout(this.timer)
    this.timer = undefined
    this.leftMs -= performance.now() - this.beganMs
    if (++this.turns % STALL_TEXTS === 0) this.leftMs = STALLS_MAX * this.stallMs
  }
}

/** Compresses texts one by one, each flushed, so that the client can read it at once. */
class GzipEncoder {
  private readonly gzip: Gzip = createGzip({ level: GZIP_LEVEL })
  private pieces: Buffer[] = []

  constructor() {
    this.gzip.on('data', (piece: Buffer) => this.pieces.push(piece))
  }

  encode(text: string): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.gzip.write(text)
      this.gzip.flush(constants.Z_SYNC_FLUSH, () => resolve(this.take()))
    })
  }

  /** Returns the rest, with the checksum. */
  end(): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.gzip.once('end', () => resolve(this.take()))
      this.gzip.end()
    })
  }

  /** Frees its memory, which is outside of the heap. */
  close(): void {
    this.gzip.destroy()
  }

  private take(): Uint8Array {
    const { pieces } = this
    this.pieces = []
    return Buffer.concat(pieces)
  }
}

type WholeBody = Exclude<Reply['body'], Streamed>

const PIECE_BYTES = 64 * 1024
/** Shorter bodies go out as they are. */
const WHOLE_BYTES_MAX = 512 * 1024

/**
 * Splits a long body into pieces, each made when the client has taken the one before: Bun copies all that a client has not taken,
 * so hundreds of slow clients of the docs' script would fill the memory.
 */
export function inPieces(body: WholeBody, method: string): WholeBody | ReadableStream<Uint8Array> {
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
