import { type FlagReader, isIdentified, type WriteFlag } from './inFlight.ts'
import type { Snapshot } from './snapshot.ts'
import type { ChangeSubscriber } from './subscriber.ts'

/** How long rows that a rename has reached are waited for: most are there within a millisecond, on a busy machine later. */
const PATIENCE_MS = 250
/** How long an answer waits for a write in flight that it may show; then lists come from the database until that has ended. */
const ANSWER_PATIENCE_MS = 25
/** The subscriber remembers of so many transactions whether they were published. */
const RANGE_MAX = 4_096

/** What an answer of the database may show. */
export interface Seen {
  /** Whether the write of this flag, which has not ended, may be part of it. */
  mayShow(flag: WriteFlag, isPublished: (transaction: number) => boolean): boolean
}

/**
 * All that a snapshot sees. A write that is part of it has a transaction between its flag's bound and the snapshot's end,
 * which the snapshot sees and which is not published: where there is none, the write is not part of it.
 */
export function seenBy(snapshot: Snapshot): Seen {
  return {
    mayShow(flag, isPublished) {
      if (flag.bound === 0) return true
      const range = (snapshot.next - 1 - flag.bound) | 0
      if (range <= 0) return false
      const first = snapshot.next - range
      if (isIdentified(flag)) return snapshot.sees(first)
      if (range > RANGE_MAX) return true
      for (let transaction = first; transaction < snapshot.next; transaction++)
        if (snapshot.sees(transaction) && !isPublished(transaction)) return true
      return false
    },
  }
}

/** One row, as the transaction of this number, modulo 2^32, has left it. */
export function versionOf(xmin: string): Seen {
  const transaction = Number(xmin) | 0
  return {
    mayShow(flag, isPublished) {
      if (isPublished(transaction)) return false
      const distance = (transaction - flag.bound) | 0
      return flag.bound === 0 || (isIdentified(flag) ? distance === 1 : distance > 0)
    },
  }
}

/** Waits for writes of all processes, so that what an answer may have seen is published. */
export class InFlightWrites {
  constructor(
    private readonly flags: FlagReader,
    private readonly subscriber: ChangeSubscriber,
  ) {}

  isEmpty(tableMask: number): boolean {
    return this.flags.now(tableMask).length === 0
  }

  /**
   * The writes on their way as of now. The function says later whether each of them was sent behind every record that is in the log
   * then, and is no part of what was `seen`: what that and the log have is a state of the database, of which all is published.
   */
  look(tableMask: number, seen: Seen): () => boolean {
    const flags = this.flags.now(tableMask)
    return () => this.flags.areBehindLog(flags) && !flags.some((flag) => seen.mayShow(flag, this.isPublished))
  }

  /** Whether each write on its way was sent behind every record that is in the log now. */
  areBehindLog(tableMask: number): boolean {
    return this.flags.areBehindLog(this.flags.now(tableMask))
  }

  /** Whether a write is on its way that changes rows of one of these along with rows of one of the others. */
  areTogether(tableMask: number, others: number): boolean {
    return this.flags.areTogether(tableMask, others)
  }

  /** Whether a write to these tableMask was waited for in vain, and has not ended: see `settled`. */
  isOverdue(tableMask: number): boolean {
    return this.flags.isOverdue(tableMask)
  }

  /** Waits until what the transaction has changed by cascades is published. False: it is not in sight, or takes too long. */
  async followed(transaction: number): Promise<boolean> {
    const untilMs = performance.now() + PATIENCE_MS
    for (;;) {
      this.subscriber.catchUp()
      if (this.subscriber.hasFollowed(transaction)) return true
      if (!this.subscriber.isLive || performance.now() > untilMs) return false
      await Bun.sleep(1)
    }
  }

  /**
   * True once all writes to these tableMask that the answer may show are published. False: one of them takes too long; until
   * it has ended, no process answers lists of its tableMask from memory.
   */
  settled(tableMask: number, seen: Seen): Promise<boolean> | true {
    const flags = this.flags.now(tableMask)
    if (flags.length === 0) return true
    const left = this.shown(flags, seen)
    return left.length === 0 || this.wait(left, seen)
  }

  private async wait(flags: readonly WriteFlag[], seen: Seen): Promise<boolean> {
    const untilMs = performance.now() + ANSWER_PATIENCE_MS
    for (let left = flags; left.some(isWaitedFor); left = this.shown(this.flags.still(left), seen)) {
      if (performance.now() > untilMs) {
        this.flags.declareOverdue(left)
        return false
      }
      await Bun.sleep(1)
    }
    return this.shown(this.flags.still(flags), seen).length === 0
  }

  private shown(flags: readonly WriteFlag[], seen: Seen): WriteFlag[] {
    this.subscriber.catchUp()
    return flags.filter((flag) => seen.mayShow(flag, this.isPublished))
  }

  private readonly isPublished = (transaction: number) => this.subscriber.hasPublished(transaction)
}

/** Others are overdue: no list may be without them while they are in flight, so an answer need not wait. */
function isWaitedFor({ word }: WriteFlag): boolean {
  return word >= 0
}
