// Bodies sent at the speed of the client: streams with gzip and a time limit for slow clients; long bodies in pieces.
import { constants, createGzip, type Gzip } from 'node:zlib'
import { PAID_ROWS, StreamPace, TEXT_ROWS } from '../operations/streams.ts'
import type { Reply, Streamed, StreamSlot } from '../respond/reply.ts'

/** Time after which a client that reads nothing is disconnected. */
const STALL_MS = 30_000
/** Maximum time that a slow client may take for the texts of 1,000 rows, as a multiple of `STALL_MS`. D55 */
const STALLS_MAX = 2
const STALL_TEXTS = PAID_ROWS / TEXT_ROWS
/** Level of zlib. At higher levels rows shrink little more, and take much more CPU time. */
const GZIP_LEVEL = 4

/** Streams of this process that have not ended. */
const open = new Set<BodySource>()

/** Breaks off all streams with an error. A stream that is just closed would look whole to a client of HTTP/1.0. */
export function breakOffStreams(): void {
  for (const source of open) source.breakOff()
}

interface Watch {
  readonly request: { readonly signal: AbortSignal }
  /** Returns the last line, which says what ended the stream; '' if the connection must be broken instead. */
  faultLine(error: unknown): string
  /** Called once at the end. `isWhole`: true if the client has taken every row. */
  onEnd(bytes: number, isWhole: boolean): void
  readonly stallMs?: number
}

/**
 * Streams a body. Each text is made when the client has taken the previous text, so that other requests run in between. After an
 * error a last line says so, or the connection breaks, so that a client never takes a part of a list for the whole list.
 */
export function streamBody(streamed: Streamed, watch: Watch): ReadableStream<Uint8Array> {
  return new ReadableStream(new BodySource(streamed, watch), { highWaterMark: 0 })
}

/**
 * Source of a streamed body. `start` is called once, `pull` whenever the client has taken a text. The stream ends by `finish`
 * after the last text, by `fail` after an error or an eviction, by `breakOff` for a slow client, or by `leave` when the client
 * has left.
 */
class BodySource implements Bun.UnderlyingSource<Uint8Array> {
  private readonly encoder: GzipEncoder | TextEncoder
  private readonly pace = new StreamPace()
  private readonly readTimeout: ReadTimeout
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null
  private bytes = 0
  /** True while the last text is being made: no text may follow it. */
  private isEnding = false
  private isEnded = false

  constructor(
    private readonly streamed: Streamed,
    private readonly watch: Watch,
  ) {
    this.encoder = streamed.isGzipped ? new GzipEncoder() : new TextEncoder()
    this.readTimeout = new ReadTimeout(streamed.slot, watch.stallMs ?? STALL_MS, () => this.breakOff())
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller
    const { signal } = this.watch.request
    signal.addEventListener('abort', this.leave)
    // The client may have left before the stream starts.
    if (signal.aborted) {
      this.leave()
      return
    }
    open.add(this)
    this.streamed.slot.onEvict = (error) => this.fail(error)
    this.readTimeout.beginWait()
  }

  async pull(): Promise<void> {
    this.readTimeout.endWait()
    try {
      const next = await this.makeNext()
      // While the text was made, the client may have left, or the stream may have been evicted.
      if (this.isEnded || this.isEnding) return
      await (next.done ? this.finish(true) : this.send(next.value))
    } catch (error) {
      await this.fail(error)
    }
  }

  cancel(): void {
    this.leave()
  }

  /** Makes the next text, after other requests have had their turn. */
  private async makeNext(): Promise<IteratorResult<string>> {
    await this.pace.turn()
    const startMs = performance.now()
    const next = await this.streamed.texts.next()
    this.pace.note(performance.now() - startMs)
    return next
  }

  private async send(text: string): Promise<void> {
    const piece = await this.encoder.encode(text)
    if (this.isEnded) return
    this.bytes += piece.length
    this.controller?.enqueue(piece)
    this.readTimeout.beginWait()
  }

  private async finish(isWhole: boolean): Promise<void> {
    this.isEnding = true
    const tail = this.encoder instanceof GzipEncoder ? await this.encoder.encode('', constants.Z_FINISH) : null
    if (this.isEnded) return
    // The tail has gzip's checksum.
    if (tail !== null) this.controller?.enqueue(tail)
    this.controller?.close()
    this.end(isWhole)
  }

  /** Ends the stream with a line that says what went wrong; if there is no such line, breaks the connection. */
  private async fail(error: unknown): Promise<void> {
    if (this.isEnded || this.isEnding) return
    this.isEnding = true
    const line = this.watch.faultLine(error)
    if (line === '') return this.breakOff()
    this.readTimeout.stop()
    await this.send(line)
    await this.finish(false)
  }

  /** Ends the stream by an error, which closes the connection. */
  breakOff(): void {
    if (this.isEnded) return
    this.end(false)
    this.controller?.error(new Error('a stream ended early'))
  }

  private readonly leave = () => this.end(false)

  /** Frees what the stream holds. Further calls have no effect. */
  private end(isWhole: boolean): void {
    if (this.isEnded) return
    this.isEnded = true
    const { texts, slot } = this.streamed
    open.delete(this)
    this.readTimeout.stop()
    this.watch.request.signal.removeEventListener('abort', this.leave)
    if (this.encoder instanceof GzipEncoder) this.encoder.close()
    slot.release()
    texts.return(undefined).catch(() => undefined)
    this.watch.onEnd(this.bytes, isWhole)
  }
}

/**
 * Timeout of a client that does not read: `stallMs` for each text, and twice `stallMs` for the texts of 1,000 rows together. D55
 */
class ReadTimeout {
  private timer: ReturnType<typeof setTimeout> | undefined
  /** Time, in ms, for which the client may still keep the stream waiting. It is renewed every 1,000 rows. */
  private leftMs: number
  private waits = 0

  constructor(
    private readonly slot: StreamSlot,
    private readonly stallMs: number,
    private readonly onMiss: () => void,
  ) {
    this.leftMs = STALLS_MAX * stallMs
  }

  /** Starts the timeout in which the client must read. */
  beginWait(): void {
    this.slot.idleSinceMs = performance.now()
    this.timer = setTimeout(this.onMiss, Math.min(this.leftMs, this.stallMs))
  }

  /** Notes that the client has read. */
  endWait(): void {
    this.stop()
    this.leftMs -= performance.now() - (this.slot.idleSinceMs as number)
    this.slot.idleSinceMs = null
    this.waits++
    if (this.waits % STALL_TEXTS === 0) this.leftMs = STALLS_MAX * this.stallMs
  }

  /** Ends the timeout. */
  stop(): void {
    clearTimeout(this.timer)
  }
}

/** Compresses texts one by one, and flushes after each text, so that the client can read it at once. */
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
 * Splits a long body into pieces, and sends each piece when the client has taken the previous piece. Bun copies the part of a
 * body that a client has not taken: without pieces, hundreds of slow clients would fill the memory.
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
