// A statement on its way, and how far a write has come.
import type { BatchableStatement } from '../model/batch.ts'

export interface Execution {
  readonly statement: BatchableStatement
  /** Time by `performance.now()` after which it is not sent: its client then has a 503 that says nothing was done. */
  readonly untilMs: number
  /** For a lock. */
  readonly mayWait: boolean
  /** Progress of a write; null: the statement changes nothing. */
  readonly sending: Sending | null
  /** Called each time that the statement is handed to the driver, for one of these connections; not there: `sending`. */
  readonly follower?: Pick<Sending, 'handOver'>
  /** The driver's query of the last attempt. */
  query?: DriverQuery
}

export interface DriverQuery {
  /** Null until a connection has taken the statement. */
  readonly state: { readonly pid: number | null } | null
  /** Rejects it at once where no connection has taken it, which none does then. */
  cancel(): void
}

/** Progress of a write, for the answer to a client that waits no longer. */
export class Sending {
  /** True if it was sent and may have been done, though the answer was lost. */
  isUnknown = false
  /** The batch that it is part of at the moment. */
  private batch: Sending | null = null
  /** For a turn or for a lock, in this process, so that nothing of it is with the database. */
  isWaiting = false
  private query: DriverQuery | null = null
  private connections: object | null = null

  static together(parts: readonly { readonly sending: Sending | null }[]): Sending {
    const batch = new Sending()
    for (const { sending } of parts) if (sending) sending.batch = batch
    return batch
  }

  /** The batch has ended; where it did nothing, its parts may be sent by themselves. */
  separate(): void {
    if (this.batch?.isUnknown) this.isUnknown = true
    this.batch = null
  }

  get isHeldUp(): boolean {
    return this.isWaiting || this.batch?.isHeldUp === true
  }

  handOver(query: DriverQuery, connections: object): void {
    this.query = query
    this.connections = connections
  }

  /** It was answered, or it is known what has become of it. */
  end(): void {
    this.query = null
  }

  /** True if the driver has it, and no connection has taken it. */
  get isUnsent(): boolean {
    return this.query !== null && this.query.state === null
  }

  /** Takes it back where no connection has taken it. Returns those that it was for; null: there is nothing to take back. */
  withdraw(): object | null {
    if (this.batch) return this.batch.withdraw()
    if (!this.isUnsent) return null
    this.query?.cancel()
    this.query = null
    return this.connections
  }

  get mayBeDone(): boolean {
    return this.isUnknown || this.query !== null || this.batch?.mayBeDone === true
  }
}
