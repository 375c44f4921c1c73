// The pauses between the loads of a table whose copies end soon, as beside writes that no copy keeps up with.

/** A copy that was kept for this multiple of its load's time was worth it. So loads take at most a tenth of the time. */
const WORTH = 10
/** The first pause after a load that came to nothing, as a multiple of its time. */
const FIRST = 4
/** Pauses that double with each load of a table that is not worth its time. */
export class LoadPauses {
  private wasted = 0
  private last = { loadMs: 0, endMs: 0 }

  /** A load that took `loadMs` has ended with a copy. */
  noteLoad(loadMs: number, endMs: number): void {
    this.last = { loadMs, endMs }
  }

  /** Returns the pause after a copy that writes have ended; 0 if it was kept for long enough. */
  afterLoss(nowMs: number): number {
    const { loadMs, endMs } = this.last
    if (nowMs - endMs >= WORTH * loadMs) this.wasted = 0
    else this.wasted++
    return this.wasted === 0 ? 0 : this.pause(loadMs)
  }

  /** Returns the pause after a load that writes have overtaken. */
  afterOvertaken(loadMs: number): number {
    this.wasted++
    return this.pause(loadMs)
  }

  private pause(loadMs: number): number {
    return Math.min(FIRST * loadMs * 2 ** (this.wasted - 1), WORTH * loadMs)
  }
}
