import type { Region } from '../os/region.ts'
import { type Change, FOLLOWED, type LogRecord, recordOf } from './change.ts'
import { noteTransaction } from './inFlight.ts'
import { bumpEpoch, type ChangeLogWriter, epochOf, isFed } from './log.ts'

/**
 * Publishes to the processes of this machine what this one has written.
 *
 * **A record has the epoch of the log from when its write was sent.** A process may sleep between the answer of PostgreSQL
 * and its record, and meanwhile a standby may take over that never got the transaction, or a crash undo it, where commits
 * do not wait for the disk. The listener has lost its connection with that, and raised the epoch when it began to listen
 * anew; what is kept since then was counted there, where the transaction never was, and its number may be another's. So
 * a subscriber counts no row of a record whose epoch is not the one that it reads in. Nor can it drop the record: the epoch
 * is raised for other reasons too, and then the write may have been done after a count of the new epoch. It takes the
 * record for a reset of the table, and all that was kept of the table is counted anew: right in either case.
 *
 * With the same epoch nothing lies between the sending and the subscriber's knowledge that could undo the write: what comes
 * later raises the epoch, and the subscriber forgets. (A machine whose listener and whose workers are connected to two
 * servers, both of which take writes, is beyond this.)
 */
export class ChangePublisher {
  constructor(
    private readonly writer: ChangeLogWriter,
    private readonly region: Region,
  ) {}

  /** To be noted when a write is sent. */
  get epoch(): number {
    return epochOf(this.region)
  }

  /** Whether rows that the database changes along with those of a statement are published by the reader of its log. */
  get isFed(): boolean {
    return isFed(this.region)
  }

  /**
   * After the commit, and before its client is answered: from then on every list shows it. `epoch`: when it was sent.
   * `isLast`: no other row of its transaction follows.
   */
  publish(table: string, change: Change, epoch: number = this.epoch, isLast = true): void {
    this.append(recordOf(table, epoch, change, isLast))
    if (epoch === this.epoch) noteTransaction(this.region, change.transaction)
  }

  /**
   * One row that was written from outside this machine, once its commit can be seen. No flag has said so before: a page
   * that was read meanwhile may show the row, and have a total without it.
   */
  publishForeign(table: string, { transaction, before, after }: Change, isLast = true): void {
    this.publish(table, { transaction, before, after, isForeign: true }, undefined, isLast)
  }

  /** For rows that a cascade has changed, and writes whose outcome is unknown. */
  publishReset(table: string): void {
    this.append([table])
  }

  /** All that the transaction has changed beside the rows that its statement returned is published. */
  publishFollowed(transaction: number): void {
    this.append([FOLLOWED, this.epoch, transaction])
  }

  /** Of a transaction of others, whose rows came one by one, this was the last. */
  publishEnd(transaction: number): void {
    this.append([FOLLOWED, this.epoch, transaction, 1])
  }

  private append(record: LogRecord) {
    if (!this.writer.append(JSON.stringify(record))) bumpEpoch(this.region)
  }
}
