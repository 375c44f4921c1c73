// Pauses between loads of a table whose copies are soon lost, because its rows change faster than a copy can follow.

/**
 * A load is wasted if its copy was kept for less than this multiple of the load's duration. So loads that are not wasted take at
 * most a tenth of the time.
 */
const WORTH_FACTOR = 10
/** First pause after a wasted load, as a multiple of the duration of the load. */
const FIRST_FACTOR = 4
/** Pauses between the loads of one table. Each wasted load doubles the pause. */
export class LoadPauses {
  private wasted = 0
  private last = { loadMs: 0, endMs: 0 }

  /** Records that a load has produced a copy at `endMs`, after `loadMs`. */
  noteLoad(loadMs: number, endMs: number): void {
    this.last = { loadMs, endMs }
  }

  /** Returns the pause in ms after writes have ended a copy; 0 if the copy was kept long enough to be worth its load. */
  afterLoss(nowMs: number): number {
    const { loadMs, endMs } = this.last
    if (nowMs - endMs >= WORTH_FACTOR * loadMs) this.wasted = 0
    else this.wasted++
    return this.wasted === 0 ? 0 : this.pause(loadMs)
  }

  /** Returns the pause in ms after a load that produced no copy, because rows changed too fast. */
  afterOvertaken(loadMs: number): number {
    this.wasted++
    return this.pause(loadMs)
  }

  private pause(loadMs: number): number {
    return Math.min(FIRST_FACTOR * loadMs * 2 ** (this.wasted - 1), WORTH_FACTOR * loadMs)
  }
}
