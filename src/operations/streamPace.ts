/** Rows of a stream that one charge pays for. */
export const PAID_ROWS = 1_000
/** Rows of a stream that are written in one go: some hundred microseconds, behind which other requests come. */
export const TEXT_ROWS = 100
/** Minimum pause of a stream: timers are no finer than a millisecond. */
const PAUSE_MS_MIN = 2
const PAUSE_MS_MAX = 50
/** Pause for a millisecond of work: two thirds of the time are left to others. */
const PAUSE_OF_WORK = 2
/** Rows of a piece beside others: a thousand hold the thread for some milliseconds when they arrive. */
const PIECE_ROWS_BESIDE = 100
/** A piece that took longer is dear by its order, whatever its rows are: few at a time would multiply that. */
const QUICK_MS_MAX = 30
/** Others are there while one of their requests was answered within this time. */
const OTHERS_MS = 50

let lastAnswerMs = Number.NEGATIVE_INFINITY

/** This process has answered a request, now. */
export function noteAnswered(nowMs: number): void {
  lastAnswerMs = nowMs
}

function areOthersThere(): boolean {
  return performance.now() - lastAnswerMs <= OTHERS_MS
}

/** How many rows the next piece of a stream has, of those that are paid for; the one before took `lastMs` to be read. */
export function rowsOfPiece(paidRows: number, lastMs: number): number {
  return areOthersThere() && lastMs <= QUICK_MS_MAX ? Math.min(PIECE_ROWS_BESIDE, paidRows) : paidRows
}

/** Lets a stream pause twice as long as it has worked while other requests are answered, and go on at once while none is. */
export class StreamPace {
  private owedMs = 0

  /** Notes time that this process or the database has worked for the stream. */
  note(ms: number): void {
    this.owedMs += PAUSE_OF_WORK * ms
  }

  /** Resolves when the stream may go on; other requests have had a turn in any case. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (!areOthersThere()) this.owedMs = 0
    if (this.owedMs < PAUSE_MS_MIN) return
    const pauseMs = Math.min(this.owedMs, PAUSE_MS_MAX)
    this.owedMs = 0
    await Bun.sleep(pauseMs)
  }
}
