/** A transaction that comes so soon, once it can, is one of many. */
const SOON_MS = 2
/** So long the next of many wait to be read together: to wake up for one costs more than to read it. */
const PAUSE_MS = 4

/** When to read on what comes by itself. Where transactions are rare, or one is awaited, always at once. */
export class Pace {
  private isHurried = false
  private hasEnded = false
  /** Since when the last of them could come. */
  private sinceMs = Number.NEGATIVE_INFINITY
  private resume: (() => void) | null = null
  private timer: Timer | undefined

  /** A transaction has ended with what has come. */
  note(): void {
    this.hasEnded = true
  }

  /** What has come was read. True: no more is to be read until `resume` is called. */
  rest(resume: () => void): boolean {
    if (!this.hasEnded) return false
    this.hasEnded = false
    const nowMs = performance.now()
    const isSoon = nowMs - this.sinceMs < SOON_MS
    this.sinceMs = nowMs
    if (!isSoon || this.isHurried) return false
    this.resume = resume
    this.timer = setTimeout(this.goOn, PAUSE_MS)
    return true
  }

  /** Whether to read without pauses from now on. */
  hurry(isHurried: boolean): void {
    this.isHurried = isHurried
    if (isHurried) this.goOn()
  }

  private readonly goOn = () => {
    clearTimeout(this.timer)
    if (this.resume === null) return
    this.sinceMs = performance.now()
    this.resume()
    this.resume = null
  }
}
