// Time slices of searches: limit how long lists and summaries block the event loop, and share that time fairly between clients.
import { FairSemaphore } from '../execute/fairSemaphore.ts'
import { DEADLINE_CHECK_MS, QUERY_MS_MAX } from '../execute/limits.ts'
import { Abandoned, tooManyLists } from '../execute/listReads.ts'
import type { Caller } from '../model/key.ts'
import { Deadlines } from '../os/time.ts'

/** Time for lists in each turn of the event loop. A single list may take longer. */
const SLICE_MS = 4

/**
 * Limits searches to `SLICE_MS` in each turn of the event loop, because they block the only thread of the process. Further
 * searches wait while other requests are answered. The client whose last search was longest ago comes next.
 */
export class Slices {
  private readonly turns = new FairSemaphore(1)
  private readonly deadlines = new Deadlines(QUERY_MS_MAX, DEADLINE_CHECK_MS)
  private waiting = 0
  private spentMs = 0
  private release = () => {}

  /**
   * Resolves when a list of the client with this key may be searched. Returns null if it may be searched now. @throws ApiError
   * 503, after 5 seconds
   */
  next(keyId: string): Promise<void> | null {
    if (this.waiting === 0 && this.spentMs < SLICE_MS) return null
    return this.deadlines.race(this.begin(keyId), tooManyLists)
  }

  /** Runs work in short steps, for some milliseconds in each turn of the event loop. @throws ApiError 503; Abandoned */
  async run<Result>({ key, request }: Caller, steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      await this.next(key)
      if (request.signal.aborted) throw new Abandoned()
      const startMs = performance.now()
      let step = steps.next()
      while (!step.done && performance.now() - startMs < SLICE_MS) step = steps.next()
      this.note(performance.now() - startMs)
      if (step.done) return step.value
    }
  }

  /** Counts the duration of a search towards the current slice. */
  note(ms: number): void {
    if (this.spentMs === 0) setImmediate(this.endTurn)
    this.spentMs += ms
    if (this.spentMs < SLICE_MS) this.release()
  }

  private async begin(keyId: string) {
    this.waiting++
    const release = await this.turns.take(keyId)
    if (this.spentMs >= SLICE_MS) await new Promise(setImmediate)
    this.waiting--
    this.release = release
    setImmediate(() => {
      this.endTurn()
      release()
    })
  }

  private readonly endTurn = () => {
    this.spentMs = 0
  }
}
