import { isIdentified, type Mark, type FlagReader } from './inFlight.ts'
import type { ChangeSubscriber } from './publishing.ts'
import type { Snapshot } from './snapshot.ts'

/** Most writes need a millisecond. On a busy machine they need more, but a count would make it busier still. */
const PATIENCE_MS = 250
/** Of more transactions it is not known which were published. */
const RANGE_MAX = 4_096

/** What an answer of the database has seen. */
export interface Seen {
  /** Whether the write of this mark, which has not ended, may be part of it. */
  mayShow(mark: Mark, isPublished: (transaction: number) => boolean): boolean
}

/**
 * All that a snapshot sees. A write that is part of it has a transaction between its mark's bound and the snapshot's end,
 * which the snapshot sees and which is not published: where there is none, the write is not part of it.
 */
export function seenBy(snapshot: Snapshot): Seen {
  return {
    mayShow(mark, isPublished) {
      if (mark.bound === 0) return true
      const range = (snapshot.next - 1 - mark.bound) | 0
      if (range <= 0) return false
      const first = snapshot.next - range
      if (isIdentified(mark)) return snapshot.sees(first)
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
    mayShow(mark, isPublished) {
      if (isPublished(transaction)) return false
      const distance = (transaction - mark.bound) | 0
      return mark.bound === 0 || (isIdentified(mark) ? distance === 1 : distance > 0)
    },
  }
}

/** Waits for writes of all processes, so that what an answer may have seen is published. */
export class InFlightWrites {
  constructor(
    private readonly marks: FlagReader,
    private readonly follower: ChangeSubscriber,
  ) {}

  isNone(tables: number): boolean {
    return this.marks.now(tables).length === 0
  }

  /** Whether a write is on its way that changes rows of one of these along with rows of one of the others. */
  areTogether(tables: number, others: number): boolean {
    return this.marks.areTogether(tables, others)
  }

  /** Whether a write to these tables was waited for in vain, and has not ended: see `settled`. */
  isOverdue(tables: number): boolean {
    return this.marks.isOverdue(tables)
  }

  /**
   * True once all writes to these tables that the answer may show are published. False: one of them takes too long; until
   * it has ended, no process answers lists of its tables from memory.
   */
  settled(tables: number, seen: Seen): Promise<boolean> | true {
    const marks = this.marks.now(tables)
    if (marks.length === 0) return true
    const left = this.shown(marks, seen)
    return left.length === 0 || this.wait(left, seen)
  }

  private async wait(marks: readonly Mark[], seen: Seen): Promise<boolean> {
    const untilMs = performance.now() + PATIENCE_MS
    for (let left = marks; left.some(isWaitedFor); left = this.shown(this.marks.still(left), seen)) {
      if (performance.now() > untilMs) {
        this.marks.declareOverdue(left)
        return false
      }
      await Bun.sleep(1)
    }
    return this.shown(this.marks.still(marks), seen).length === 0
  }

  private shown(marks: readonly Mark[], seen: Seen): Mark[] {
    this.follower.catchUp()
    return marks.filter((mark) => seen.mayShow(mark, this.isPublished))
  }

  private readonly isPublished = (transaction: number) => this.follower.hasPublished(transaction)
}

/** Others are overdue: no list may be without them while they are in flight, so an answer need not wait. */
function isWaitedFor({ word }: Mark): boolean {
  return word >= 0
}
