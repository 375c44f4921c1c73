import type { Duplex } from 'node:stream'
import type postgres from 'postgres'
import { connectTo } from '../execute/connect.ts'
import { type FeedReader, feedSockets } from './feedSocket.ts'
import { Pace } from './pace.ts'

export interface StreamHandlers {
  /** A message of the output plugin. True: a transaction ends with it. */
  take(message: Buffer): boolean
  /** All that lies before this position of the log has been given to `take`, as far as it has ended. */
  reach(position: bigint): void
  /** What has come together was given to `take` and `reach`. */
  rest(): void
  lose(reason: string): void
}

const [DATA, KEEPALIVE, STATUS] = [0x77, 0x6b, 0x72]
/** The kind, two positions and a time go before the message of the output plugin. */
const DATA_HEAD = 25
const STATUS_BYTES = 34
/** The protocol counts microseconds from here. */
const MS_OF_2000 = Date.UTC(2000, 0, 1)

/** What PostgreSQL knows this connection by, and how it writes values: as for all of our connections. */
const SETTINGS = {
  application_name: 'roster feed',
  replication: 'database',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  // PostgreSQL finds within half a minute, not within hours, that a machine has vanished.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 30_000,
}

/** A connection in PostgreSQL's replication mode. `reader`: of what it streams. */
export function connectForReplication(url: string, reader?: FeedReader, onclose?: () => void): postgres.Sql {
  const socket = reader && feedSockets(reader)
  const options = {
    max: 1,
    prepare: false,
    connection: SETTINGS,
    ...(onclose && { onclose }),
    ...(socket && { socket }),
  }
  return connectTo(url, options)
}

/**
 * What a temporary logical slot streams: it goes with its connection, so no server that has died makes PostgreSQL keep its
 * log. (PostgreSQL documentation, 54.4, streaming replication protocol.)
 */
export class SlotStream implements FeedReader {
  private position = 0n
  private stream: Duplex | null = null
  private isClosed = false
  private readonly sql: postgres.Sql
  private readonly pace = new Pace()
  /** Whether a message has come of an encrypted connection, and `rest` has not been called since. */
  private isReading = false

  private constructor(
    url: string,
    private readonly handlers: StreamHandlers,
  ) {
    this.sql = connectForReplication(url, this, () => this.lose('the connection of the feed was lost'))
  }

  /** Where the slot begins waits for all transactions that write at the moment. @throws what the driver throws */
  static begin(
    url: string,
    publication: string,
    handlers: StreamHandlers,
  ): { stream: SlotStream; begun: Promise<void> } {
    const stream = new SlotStream(url, handlers)
    return { stream, begun: stream.begin(publication) }
  }

  /** Asks for the position that is reached; `reach` says it. */
  ask(): void {
    this.report(true)
  }

  /** True: reads without pauses from now on, since a position is awaited. */
  hurry(isHurried: boolean): void {
    this.pace.hurry(isHurried)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.pace.hurry(true)
    this.sql.end({ timeout: 0 }).catch(() => undefined)
  }

  private async begin(publication: string) {
    const slot = `roster_${crypto.randomUUID().replaceAll('-', '_')}`
    const [made] = await this.sql.unsafe(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`)
    const options = `proto_version '1', publication_names '${publication}', messages 'true'`
    const query = this.sql.unsafe(`START_REPLICATION SLOT ${slot} LOGICAL ${made?.consistent_point} (${options})`)
    // The driver makes one stream for both directions, and has a type for one of them.
    const stream = (await query.writable()) as Duplex
    stream.on('data', this.readEncrypted)
    stream.on('error', (error: Error) => this.lose(error.message))
    stream.on('end', () => this.lose('the feed has ended'))
    this.stream = stream
  }

  /** For the socket. */
  read(bytes: Buffer): void {
    if (this.isClosed) return
    try {
      if (bytes[0] === DATA) {
        if (this.handlers.take(bytes.subarray(DATA_HEAD))) this.pace.note()
      } else if (bytes[0] === KEEPALIVE) this.keepAlive(bytes.readBigUInt64BE(1), bytes[17] === 1)
    } catch (error) {
      this.lose((error as Error).message)
    }
  }

  /** For the socket. */
  rest(resume: () => void): boolean {
    if (this.isClosed) return false
    this.handlers.rest()
    return this.pace.rest(resume)
  }

  private readonly readEncrypted = (bytes: Buffer) => {
    this.read(bytes)
    if (this.isReading) return
    this.isReading = true
    queueMicrotask(() => {
      this.isReading = false
      if (!this.isClosed) this.handlers.rest()
    })
  }

  private keepAlive(position: bigint, isAsked: boolean) {
    if (position > this.position) this.position = position
    this.handlers.reach(position)
    if (isAsked) this.report(false)
  }

  /** Says how far the log is not needed any more. */
  private report(isAsking: boolean) {
    const status = Buffer.alloc(STATUS_BYTES)
    status[0] = STATUS
    for (const at of [1, 9, 17]) status.writeBigUInt64BE(this.position, at)
    status.writeBigInt64BE(BigInt(Date.now() - MS_OF_2000) * 1_000n, 25)
    status[33] = isAsking ? 1 : 0
    this.stream?.write(status)
  }

  private lose(reason: string) {
    if (!this.isClosed) this.handlers.lose(reason)
    this.close()
  }
}
