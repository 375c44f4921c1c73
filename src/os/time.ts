// Time: a clock that all processes share, deadlines of promises, and pauses in long work.
import { ptr } from 'bun:ffi'
import { setImmediate } from 'node:timers/promises'
import { libc } from './libc.ts'

const clock = libc({ clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } })

const CLOCK_MONOTONIC = process.platform === 'darwin' ? 6 : 1

// In a separate ArrayBuffer: the JIT moves small typed arrays, and a pointer to such an array would dangle.
const timespec = new Uint32Array(new ArrayBuffer(16))
const address = ptr(timespec)

/**
 * Returns the time of the kernel's monotonic clock, in ms: `performance.now()` differs between processes, and `Date.now()` jumps
 * when the clock is set.
 */
export function monotonicMs(): number {
  clock().clock_gettime(CLOCK_MONOTONIC, address)
  return (timespec[0] as number) * 1_000 + Math.trunc((timespec[2] as number) / 1_000_000)
}

/**
 * Settles as `promise` does, or after `afterMs` with the result or the error of `onMiss`. Each call has its own timer: for many
 * promises use `Deadlines`.
 */
export function withDeadline<T>(promise: Promise<T>, afterMs: number, onMiss: () => T): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(() => Promise.try(onMiss).then(resolve, reject), afterMs)
  promise.then(resolve, reject).finally(() => clearTimeout(timer))
  return settled
}

/** A deadline for many promises, with one timer for all of them: a timer for each promise would cost more. */
export class Deadlines {
  private readonly waiting = new Set<{ readonly dueMs: number; onMiss(): Error; reject(error: unknown): void }>()
  private timer: ReturnType<typeof setInterval> | null = null

  /** `checkMs`: interval of the checks, and so the longest delay until a missed deadline is noticed. */
  constructor(
    private readonly afterMs: number,
    private readonly checkMs: number,
  ) {}

  /** Settles as `promise` does; after the deadline it rejects with the error of `onMiss`. */
  race<T>(promise: PromiseLike<T>, onMiss: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const entry = { dueMs: performance.now() + this.afterMs, onMiss, reject }
      this.waiting.add(entry)
      this.timer ??= setInterval(() => this.sweep(), this.checkMs)
      promise.then(
        (result) => this.waiting.delete(entry) && resolve(result),
        (error) => this.waiting.delete(entry) && reject(error),
      )
    })
  }

  private sweep() {
    const nowMs = performance.now()
    // Each promise gets the same time, so the set, which keeps the order of insertion, is in order of deadlines, too.
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

/**
 * Returns a function that long work calls between its steps. The function returns null until `turnMs` have passed; then it
 * returns a promise, which the work awaits so that other work gets its turn.
 */
export function yieldEvery(turnMs = 3): () => Promise<void> | null {
  let untilMs = performance.now() + turnMs
  return () => {
    if (performance.now() < untilMs) return null
    return setImmediate().then(() => {
      untilMs = performance.now() + turnMs
    })
  }
}
