interface Waiting {
  untilMs: number
  go(error: unknown): void
}

/** How often one of those that wait tries for a connection that another program may have left. */
const TRY_MS = 100

/**
 * Statements wait here while PostgreSQL has no more connections for us (SQLSTATE 53300, which comes only when one is opened,
 * so that nothing was sent): each goes on when another one has ended, whose connection it finds free.
 */
export class Shortage {
  private readonly waiting: Waiting[] = []
  private timer: ReturnType<typeof setInterval> | null = null
  /** What PostgreSQL said last. */
  error: unknown = null

  /** While one waits, all that come later wait behind it. */
  get isOn(): boolean {
    return this.waiting.length > 0
  }

  /** Resolves when a connection may be free, and at `untilMs`, up to 100 ms late, with what PostgreSQL said last. */
  wait(untilMs: number): Promise<unknown> {
    return new Promise((go) => this.waiting.push({ untilMs, go }))
  }

  /** The same for a statement that PostgreSQL has just refused a connection: it goes before those that came later. */
  waitAgain(untilMs: number, error: unknown): Promise<unknown> {
    this.error = error
    this.timer ??= setInterval(() => this.tryOne(), TRY_MS)
    return new Promise((go) => this.waiting.unshift({ untilMs, go }))
  }

  /** A statement has ended, so that its connection is free. */
  freed(): void {
    this.waiting.shift()?.go(this.error)
    if (this.waiting.length === 0) this.stop()
  }

  /** Lets all go: there is another fault than too few connections. */
  end(): void {
    for (const { go } of this.waiting.splice(0)) go(this.error)
    this.stop()
  }

  private tryOne() {
    const nowMs = performance.now()
    const late = this.waiting.filter(({ untilMs }) => untilMs <= nowMs)
    for (const one of late) {
      this.waiting.splice(this.waiting.indexOf(one), 1)
      one.go(this.error)
    }
    this.freed()
  }

  private stop() {
    if (this.timer) clearInterval(this.timer)
    this.timer = null
  }
}
