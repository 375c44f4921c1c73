import { ptr } from 'bun:ffi'
import { libc } from './libc.ts'

const clock = libc({ clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } })

const CLOCK_MONOTONIC = process.platform === 'darwin' ? 6 : 1

// Over an ArrayBuffer of its own: the JIT moves a small typed array, and the pointer to it would dangle.
const timespec = new Uint32Array(new ArrayBuffer(16))
const address = ptr(timespec)

/**
 * Milliseconds of the kernel's monotonic clock: the same for every process of the machine, never set back.
 * Bun's own clocks are not both: `performance.now()` and `Bun.nanoseconds()` count from the start of the process, and
 * `Date.now()` jumps when the wall clock is set.
 */
export function monotonicMs(): number {
  clock().clock_gettime(CLOCK_MONOTONIC, address)
  return (timespec[0] as number) * 1_000 + Math.trunc((timespec[2] as number) / 1_000_000)
}
