// Deadlines of many promises, with one timer.
import { DEADLINE_CHECK_MS } from './limits.ts'

/** One deadline for many promises, with one timer for all of them: a timer for each would cost more than the race. */
export class Deadlines {
  private readonly waiting = new Set<{ readonly dueMs: number; onMiss(): Error; reject(error: unknown): void }>()
  private timer: ReturnType<typeof setInterval> | null = null

  constructor(private readonly afterMs: number) {}

  /** Settles as `promise` does. After the deadline, at most `DEADLINE_CHECK_MS` late, it rejects with the error of `onMiss`. */
  race<T>(promise: PromiseLike<T>, onMiss: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry = { dueMs: performance.now() + this.afterMs, onMiss, reject }
      this.waiting.add(entry)
      this.timer ??= setInterval(() => this.sweep(), DEADLINE_CHECK_MS)
      promise.then(
        (result) => this.waiting.delete(entry) && resolve(result),
        (error) => this.waiting.delete(entry) && reject(error),
      )
    })
  }

  private sweep() {
    const nowMs = performance.now()
    // All wait equally long, so the set, in order of insertion, is in order of deadlines too.
    for (const entry of this.waiting) {
      if (entry.dueMs > nowMs) break
      this.waiting.delete(entry)
      entry.reject(entry.onMiss())
    }
    if (this.waiting.size > 0 || this.timer === null) return
    clearInterval(this.timer)
    this.timer = null
  }
}
