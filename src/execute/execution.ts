// A statement that is being executed, and how far a write has come.
import type { BatchableStatement } from '../model/batch.ts'
import type { DriverQuery } from './driver.ts'

export interface Execution {
  readonly statement: BatchableStatement
  /** Time by `performance.now()` after which it is not sent: its client then has a 503 that says nothing was done. */
  readonly untilMs: number
  /** True if the statement may wait for a row lock; then nothing else is pipelined after it. */
  readonly mayWaitForLock: boolean
  /** Progress of a write; null: the statement changes nothing. */
  readonly progress: WriteProgress | null
  /** Is told of each query that is handed to the driver, and of its pool; not there: `progress` is. */
  readonly listener?: Pick<WriteProgress, 'onDispatch'>
  /** The driver's query of the last attempt. */
  query?: DriverQuery
}

/** Progress of a write, for the answer to a client that waits no longer. */
export class WriteProgress {
  /** True if it was sent and may have been done, though the answer was lost. */
  isUnknown = false
  /** The batch that it is part of at the moment. */
  private batch: WriteProgress | null = null
  /** True while the write waits in this process; PostgreSQL has nothing of it yet. */
  waitsInProcess = false
  private query: DriverQuery | null = null
  private connections: object | null = null

  /** Makes the progress of a batch, which its writes share. */
  static joinBatch(parts: readonly { readonly progress: WriteProgress | null }[]): WriteProgress {
    const batch = new WriteProgress()
    for (const { progress } of parts) if (progress) progress.batch = batch
    return batch
  }

  /** Leaves a batch that has ended. An unknown outcome of the batch is one of its writes, too. */
  leaveBatch(): void {
    if (this.batch?.isUnknown) this.isUnknown = true
    this.batch = null
  }

  /** True while the write, or its batch, waits in this process. */
  get isWaiting(): boolean {
    return this.waitsInProcess || this.batch?.isWaiting === true
  }

  onDispatch(query: DriverQuery, connections: object): void {
    this.query = query
    this.connections = connections
  }

  /** Forgets the driver's query: its outcome is known. */
  end(): void {
    this.query = null
  }

  /** True if the driver has it, and no connection has taken it. */
  get isUnsent(): boolean {
    return this.query !== null && this.query.state === null
  }

  /** Cancels the query if no connection has taken it. Returns its pool; null: there is nothing to cancel. */
  cancelUnsent(): object | null {
    if (this.batch) return this.batch.cancelUnsent()
    if (!this.isUnsent) return null
    this.query?.cancel()
    this.query = null
    return this.connections
  }

  get mayBeDone(): boolean {
    return this.isUnknown || this.query !== null || this.batch?.mayBeDone === true
  }
}
