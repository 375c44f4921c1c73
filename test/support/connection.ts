import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface RawResponse {
  status: number
  /** By lower-case name. */
  headers: Map<string, string>
  body: string
  /** Of all that stands before the body. */
  headBytes: number
}

/** One HTTP/1.1 connection that is kept alive and sends bytes as they stand, one request after the other. */
export class Connection {
  private socket: Socket | null = null
  private received: Buffer = Buffer.alloc(0)
  private look = () => {}
  private closed: Error | null = null

  constructor(private readonly url: string) {}

  /** `bodiless`: the answer has no body whatever its headers say, as to HEAD. */
  send(request: Uint8Array, bodiless: boolean): Promise<RawResponse> {
    const socket = this.socket ?? this.open()
    return new Promise((done, fail) => {
      this.look = () => {
        const response = this.take(bodiless)
        if (response) done(response)
        else if (this.closed) fail(this.closed)
      }
      socket.write(request)
    })
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
    const end = this.received.indexOf('\r\n\r\n')
    if (end === -1) return null
    const [first = '', ...lines] = this.received.subarray(0, end).toString('latin1').split('\r\n')
    const headers = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const status = Number(first.split(' ')[1])
    const length = bodiless || status === 204 ? 0 : Number(headers.get('content-length') ?? 0)
    if (this.received.length < end + 4 + length) return null
    const bytes = this.received.subarray(end + 4, end + 4 + length)
    const isZipped = length > 0 && headers.get('content-encoding') === 'gzip'
    const body = (isZipped ? gunzipSync(bytes) : bytes).toString()
    this.received = this.received.subarray(end + 4 + length)
    this.look = () => {}
    if (headers.get('connection')?.toLowerCase() === 'close') this.close()
    return { status, headers, body, headBytes: end + 4 }
  }
}
