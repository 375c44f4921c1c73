import type { Row } from '../model/sql.ts'

/** Follows one write from before it is sent. */
export interface WriteObserver {
  /** Its transaction, where that is learnt while it runs. */
  identify(transaction: number): void
  /**
   * Called once with its outcome, as soon as that is known, whether or not a client still waits for it: the rows that it
   * returned, which are none when it did nothing; or null, when it is not known whether it was done, or will be. A promise:
   * the client is answered when that has resolved; it never rejects.
   */
  settle(rows: readonly Row[] | null): Promise<void> | void
}

/** Called each time before a write is sent, alone or with others as a batch. */
export type Observe = () => WriteObserver
