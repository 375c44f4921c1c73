import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface RawResponse {
  status: number
  /** Headers by lower-case name. */
  headers: Map<string, string>
  body: string
  /** Bytes of the whole head. */
  headBytes: number
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Parses the first response in the bytes, and returns its length; null if it is incomplete. */
export function readResponse(bytes: Buffer, bodiless: boolean): { response: RawResponse; length: number } | null {
  const end = bytes.indexOf(HEAD_END)
  if (end === -1) return null
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(first.split(' ')[1])
  const headBytes = end + HEAD_END.length
  // `100 Continue` is not the response: one follows.
  if (status < 200) {
    const next = readResponse(bytes.subarray(headBytes), bodiless)
    return next && { response: next.response, length: headBytes + next.length }
  }
  const length = bodiless || status === 204 || status === 304 ? 0 : Number(headers.get('content-length') ?? 0)
  if (bytes.length < headBytes + length) return null
  const content = bytes.subarray(headBytes, headBytes + length)
  const isZipped = length > 0 && headers.get('content-encoding') === 'gzip'
  const body = (isZipped ? gunzipSync(content) : content).toString()
  return { response: { status, headers, body, headBytes }, length: headBytes + length }
}

/** A kept-alive HTTP/1.1 connection that sends raw bytes, one request after the other. */
export class Connection {
  private socket: Socket | null = null
  private received: Buffer = Buffer.alloc(0)
  private look = () => {}
  private closed: Error | null = null

  constructor(private readonly url: string) {}

  /** Sends a request. `bodiless`: the response has no body whatever its headers say, as for HEAD. */
  async send(request: Uint8Array, bodiless: boolean): Promise<RawResponse> {
    const [response] = await this.sendAll([request], [bodiless])
    if (!response) throw this.closed ?? new Error('closed')
    return response
  }

  /**
   * Sends pieces one after the other. Together they have as many requests as `bodiless` has entries. Resolves with a response to
   * each request, or with fewer if the server closes the connection.
   */
  async sendAll(pieces: readonly Uint8Array[], bodiless: readonly boolean[]): Promise<RawResponse[]> {
    const socket = this.socket ?? this.open()
    const responses: RawResponse[] = []
    const answered = new Promise<RawResponse[]>((done) => {
      this.look = () => {
        while (responses.length < bodiless.length) {
          const response = this.take(bodiless[responses.length] as boolean)
          if (!response) break
          responses.push(response)
        }
        if (responses.length < bodiless.length && !this.closed) return
        this.look = () => {}
        done(responses)
      }
    })
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await new Promise((done) => setImmediate(done))
      if (!socket.destroyed) socket.write(piece)
    }
    await answered
    if (responses.at(-1)?.headers.get('connection')?.toLowerCase() === 'close') this.close()
    return responses
  }

  close() {
    this.socket?.destroy()
    this.socket = null
  }

  private open(): Socket {
    const { hostname, port } = new URL(this.url)
    this.received = Buffer.alloc(0)
    this.closed = null
    const socket = connect(Number(port), hostname)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk])
      this.look()
    })
    const end = (error?: Error) => {
      if (this.socket !== socket) return
      this.closed = error ?? new Error(`closed after ${JSON.stringify(this.received.toString('latin1'))}`)
      this.socket = null
      this.look()
    }
    socket.on('error', end)
    socket.on('close', () => end())
    this.socket = socket
    return socket
  }

  private take(bodiless: boolean): RawResponse | null {
    const read = readResponse(this.received, bodiless)
    if (!read) return null
    this.received = this.received.subarray(read.length)
    return read.response
  }
}
