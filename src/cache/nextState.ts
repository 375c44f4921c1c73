import type { Freshness } from './freshness.ts'

/** Most writes last no longer. */
const WAIT_MS = 10
/** Where writes overlap all the time, or one lasts, a wait is in vain: so long there is no other then. */
const REST_MS = 50

/**
 * Waits for a moment in which all that is published is a state of the database, so that rows may come from columns (step 35
 * of docs/cache.md). Where a write has ended while another one was on its way it is none until that one ends, which mostly
 * takes a few milliseconds; to ask PostgreSQL for the rows takes as long, and costs more than all else of the list.
 */
export class NextState {
  /** By the bits of tables: lists wait together. */
  private readonly waiting = new Map<number, Promise<void>>()
  private restsUntilMs = Number.NEGATIVE_INFINITY

  constructor(private readonly freshness: Freshness) {}

  /** Null: there is nothing to wait for, or it has been in vain of late. */
  next(tableMask: number): Promise<void> | null {
    if (this.freshness.mayBeState(tableMask)) return null
    const waiting = this.waiting.get(tableMask)
    if (waiting !== undefined) return waiting
    if (performance.now() < this.restsUntilMs) return null
    const begun = this.wait(tableMask)
    this.waiting.set(tableMask, begun)
    return begun
  }

  private async wait(tableMask: number) {
    const untilMs = performance.now() + WAIT_MS
    try {
      do {
        await Bun.sleep(1)
        this.freshness.catchUp(tableMask)
        if (this.freshness.mayBeState(tableMask)) return
      } while (performance.now() < untilMs)
      this.restsUntilMs = performance.now() + REST_MS
    } finally {
      this.waiting.delete(tableMask)
    }
  }
}
