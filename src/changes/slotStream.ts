import type { Duplex } from 'node:stream'
import type postgres from 'postgres'
import { connectTo } from '../execute/connect.ts'

export interface StreamHandlers {
  /** A message of the output plugin. */
  take(message: Buffer): void
  /** All that lies before this position of the log has been given to `take`, as far as it has ended. */
  reach(position: bigint): void
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

/** A connection in PostgreSQL's replication mode. */
export function connectForReplication(url: string, onclose?: () => void): postgres.Sql {
  return connectTo(url, { max: 1, prepare: false, ...(onclose ? { onclose } : {}), connection: SETTINGS })
}

/**
 * What a temporary logical slot streams: it goes with its connection, so no server that has died makes PostgreSQL keep its
 * log. (PostgreSQL documentation, 54.4, streaming replication protocol.)
 */
export class SlotStream {
  private position = 0n
  private stream: Duplex | null = null
  private isClosed = false
  private readonly sql: postgres.Sql

  private constructor(
    url: string,
    private readonly handlers: StreamHandlers,
  ) {
    this.sql = connectForReplication(url, () => this.lose('the connection of the feed was lost'))
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

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.sql.end({ timeout: 0 }).catch(() => undefined)
  }

  private async begin(publication: string) {
    const slot = `roster_${crypto.randomUUID().replaceAll('-', '_')}`
    const [made] = await this.sql.unsafe(`CREATE_REPLICATION_SLOT ${slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`)
    const options = `proto_version '1', publication_names '${publication}', messages 'true'`
    const query = this.sql.unsafe(`START_REPLICATION SLOT ${slot} LOGICAL ${made?.consistent_point} (${options})`)
    // The driver makes one stream for both directions, and has a type for one of them.
    const stream = (await query.writable()) as Duplex
    stream.on('data', this.read)
    stream.on('error', (error: Error) => this.lose(error.message))
    stream.on('end', () => this.lose('the feed has ended'))
    this.stream = stream
  }

  private readonly read = (bytes: Buffer) => {
    if (this.isClosed) return
    try {
      if (bytes[0] === DATA) this.handlers.take(bytes.subarray(DATA_HEAD))
      else if (bytes[0] === KEEPALIVE) this.keepAlive(bytes.readBigUInt64BE(1), bytes[17] === 1)
    } catch (error) {
      this.lose((error as Error).message)
    }
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
