import type { OrderedRows } from './ordered.ts'
import type { Change, RowsModel } from './rowsModel.ts'

/** More states than are written while a page is asked for, unless something stands still. */
const KEPT = 80

/**
 * The states that one writer leads the tables through, one write after the other: state 0, 1, 2, ... A write that is on
 * its way may be done or not, so an answer can be judged once all writes are settled that were sent before it came.
 */
export class Timeline {
  /** Writes that were sent. */
  sent = 0
  /** Writes that every list must show that is asked for from now on: answered, or shown by an answer before. */
  shown = 0
  /** The last write of another client. */
  private byOthers = 0
  private settled = 0
  private waiting: { state: number; go: () => void }[] = []

  constructor(
    readonly model: RowsModel,
    readonly lists: readonly OrderedRows[],
  ) {}

  /** The writer says that it sends the next write, or that another client does. */
  send(byOthers = false): void {
    this.sent++
    if (byOthers) this.byOthers = this.sent
  }

  /** Whether a write of another client is among those that a list may show already. */
  isOthers(first: number, last: number): boolean {
    return first < this.byOthers && this.byOthers <= last
  }

  /** What came of it; nothing, if it was not done. */
  settle(changes: readonly Change[]): void {
    this.settled = this.sent
    this.model.apply(changes)
    for (const list of this.lists) {
      list.take(this.settled, changes)
      list.forget(this.settled - KEPT)
    }
    const ready = this.waiting.filter(({ state }) => state <= this.settled)
    this.waiting = this.waiting.filter(({ state }) => state > this.settled)
    for (const { go } of ready) go()
  }

  /** Its client was answered, or others have had the time to hear of it. */
  show(): void {
    this.shown = this.settled
  }

  /** An answer shows the write with which this state begins: no later one may be without it. */
  see(state: number): void {
    this.shown = Math.max(this.shown, state)
  }

  async untilSettled(state: number): Promise<void> {
    if (state > this.settled) await new Promise<void>((go) => this.waiting.push({ state, go }))
  }

  /** Whether what lists show from this state on is still known. */
  knows(state: number): boolean {
    return state > this.settled - KEPT
  }
}
