import { Deadlines, QUERY_MS_MAX } from '../execute/deadlines.ts'
import { busyWithLists } from '../execute/listReads.ts'
import { Turns } from '../execute/turns.ts'

/** Time for lists in each turn of the event loop; one list may take longer. */
const SLICE_MS = 4

/**
 * Looking through columns holds the only thread of the process: lists that arrive together would hold it for as long as all of
 * them take. So each turn of the event loop has some time for it. Beyond that lists wait, while other requests that have
 * arrived are answered, and go on one asker after the other, first who has asked for least of late.
 */
export class Slices {
  private readonly turns = new Turns(1)
  private readonly deadlines = new Deadlines(QUERY_MS_MAX)
  private waiting = 0
  private spentMs = 0
  private release = () => {}

  /** Resolves when a list of this asker may be looked for; null: now. @throws ApiError 503, after 5 seconds */
  next(asker: string): Promise<void> | null {
    if (this.waiting === 0 && this.spentMs < SLICE_MS) return null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.waiting++
    this.turns.take(asker, (release) => {
      const begin = () => this.begin(resolve, release)
      if (this.spentMs < SLICE_MS) begin()
      else setImmediate(begin)
    })
    return this.deadlines.race(promise, busyWithLists)
  }

  /** Notes the time that the search for a list took. */
  note(ms: number): void {
    if (this.spentMs === 0) setImmediate(this.endTurn)
    this.spentMs += ms
    if (this.spentMs < SLICE_MS) this.release()
  }

  private begin(resolve: () => void, release: () => void) {
    this.waiting--
    this.release = release
    resolve()
    setImmediate(() => {
      this.endTurn()
      release()
    })
  }

  private readonly endTurn = () => {
    this.spentMs = 0
  }
}
