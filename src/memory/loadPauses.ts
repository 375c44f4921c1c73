// Pauses between loads of a table whose copies are soon lost, because rows change faster than a copy can follow.

/**
 * A load was worth it if its copy was kept for at least this multiple of the load's duration, so that loads take at most a tenth
 * of the time.
 */
const WORTH_FACTOR = 10
/** First pause after a wasted load, as a multiple of the load's time. */
const FIRST_FACTOR = 4
/** Pauses that double with each wasted load. */
export class LoadPauses {
  private wasted = 0
  private last = { loadMs: 0, endMs: 0 }

  /** Records a load that took `loadMs` and produced a copy. */
  noteLoad(loadMs: number, endMs: number): void {
    this.last = { loadMs, endMs }
  }

  /** Returns the pause after a copy was lost to writes; 0 if it was kept for long enough. */
  afterLoss(nowMs: number): number {
    const { loadMs, endMs } = this.last
    if (nowMs - endMs >= WORTH_FACTOR * loadMs) this.wasted = 0
    else this.wasted++
    return this.wasted === 0 ? 0 : this.pause(loadMs)
  }

  /** Returns the pause after a load that writes have made useless. */
  afterOvertaken(loadMs: number): number {
    this.wasted++
    return this.pause(loadMs)
  }

  private pause(loadMs: number): number {
    return Math.min(FIRST_FACTOR * loadMs * 2 ** (this.wasted - 1), WORTH_FACTOR * loadMs)
  }
}
