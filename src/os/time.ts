// Time: a clock that all processes share, deadlines of promises, and pauses in long work.
import { ptr } from 'bun:ffi'
import { setImmediate } from 'node:timers/promises'
import { libc } from './libc.ts'

const clock = libc({ clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } })

const CLOCK_MONOTONIC = process.platform === 'darwin' ? 6 : 1

// In a separate ArrayBuffer: the JIT moves small typed arrays, and the pointer would dangle.
const timespec = new Uint32Array(new ArrayBuffer(16))
const address = ptr(timespec)

/** Milliseconds of the kernel's clock: `performance.now()` differs between processes, and `Date.now()` jumps when it is set. */
export function monotonicMs(): number {
  clock().clock_gettime(CLOCK_MONOTONIC, address)
  return (timespec[0] as number) * 1_000 + Math.trunc((timespec[2] as number) / 1_000_000)
}

/** Settles as `promise` does, or after `afterMs` as `onMiss` does. Each call has a timer, so it suits few promises. */
export function withDeadline<T>(promise: Promise<T>, afterMs: number, onMiss: () => T): Promise<T> {
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(() => Promise.try(onMiss).then(resolve, reject), afterMs)
  promise.then(resolve, reject).finally(() => clearTimeout(timer))
  return settled
}

/**
 * Returns a function that long work calls between its steps. After `turnMs` it returns a promise, which the work awaits so that
 * other work gets its turn; before that null.
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
