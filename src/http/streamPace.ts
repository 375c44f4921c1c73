/** What a stream owes is paid in pauses of so long: timers are no finer than a millisecond. */
const PAUSE_MS_MIN = 2
const PAUSE_MS_MAX = 50
/** Others are there while one of their requests was answered within this time. */
const OTHERS_MS = 50

let lastAnswerMs = Number.NEGATIVE_INFINITY

/** This process has answered a request, now. */
export function noteAnswered(nowMs: number): void {
  lastAnswerMs = nowMs
}

/** Lets a stream pause for as long as it has worked while other requests are answered, and go on at once while none is. */
export class StreamPace {
  private owedMs = 0

  /** So long was worked for the stream, by this process or by the database. */
  note(ms: number): void {
    this.owedMs += ms
  }

  /** Resolves when the stream may go on; other requests have had a turn in any case. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (performance.now() - lastAnswerMs > OTHERS_MS) this.owedMs = 0
    if (this.owedMs < PAUSE_MS_MIN) return
    const pauseMs = Math.min(this.owedMs, PAUSE_MS_MAX)
    this.owedMs = 0
    await Bun.sleep(pauseMs)
  }
}
