import { Socket } from 'node:net'

/** What to do with what PostgreSQL copies. Neither may throw. */
export interface FeedReader {
  /** A message that PostgreSQL copies. */
  read(message: Buffer): void
  /** All whole messages that have arrived were given to `read`. True: no more is read until `resume` is called. */
  rest(resume: () => void): boolean
}

/** What the driver says of where to connect: one of the hosts, or a path. */
interface Place {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path: string | false
  readonly ssl: unknown
  /** In seconds. */
  readonly connect_timeout: number
}

const COPY_DATA = 0x64
/** The kind, and the length, which counts itself and what follows. */
const HEAD_BYTES = 5

/**
 * For the driver's option `socket`: connects, and gives `reader` what PostgreSQL copies, of which the driver would make a buffer
 * and an event of a stream for each message. All else the driver gets. Where the connection is to be encrypted, which the driver
 * does behind this socket, it gets all.
 */
export function feedSockets(reader: FeedReader): (place: Place) => Promise<Socket> {
  let attempts = 0
  return async ({ host, port, path, ssl, connect_timeout }) => {
    let refusal: unknown
    for (const _ of host) {
      const place = attempts++ % host.length
      // The driver checks the certificate by it.
      const at = { host: host[place] as string, port: port[place] as number }
      const socket = Object.assign(ssl ? new Socket() : new FeedSocket(reader), at)
      try {
        await connect(socket, path ? { path } : at, connect_timeout * 1_000)
        return socket
      } catch (error) {
        refusal = error
      }
    }
    throw refusal
  }
}

async function connect(socket: Socket, at: { path: string } | { host: string; port: number }, timeoutMs: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('connect', resolve).once('error', reject)
  const timer = setTimeout(() => socket.destroy(new Error('the connection of the feed timed out')), timeoutMs)
  try {
    socket.connect(at)
    await promise
  } finally {
    clearTimeout(timer)
    socket.off('error', reject)
  }
}

class FeedSocket extends Socket {
  /** Of a message that is not whole yet, and the bytes that are to come before it can be. */
  private pieces: Buffer[] = []
  private missing = 0

  constructor(private readonly reader: FeedReader) {
    super()
  }

  /** What has arrived. False: the socket reads no more until `_read`. */
  override push(arrived: Buffer | null): boolean {
    if (arrived === null) return super.push(null)
    this.pieces.push(arrived)
    this.missing -= arrived.length
    if (this.missing > 0) return true
    const bytes = this.pieces.length === 1 ? arrived : Buffer.concat(this.pieces)
    this.split(bytes)
    return !this.reader.rest(this.resumeReading)
  }

  private split(bytes: Buffer) {
    let from = 0
    this.missing = 0
    while (from + HEAD_BYTES <= bytes.length) {
      const end = from + 1 + bytes.readUInt32BE(from + 1)
      if (end > bytes.length) {
        this.missing = end - bytes.length
        break
      }
      if (bytes[from] === COPY_DATA) this.reader.read(bytes.subarray(from + HEAD_BYTES, end))
      else super.push(bytes.subarray(from, end))
      from = end
    }
    this.pieces = from < bytes.length ? [bytes.subarray(from)] : []
  }

  private readonly resumeReading = () => {
    if (!this.destroyed) this._read(0)
  }
}
