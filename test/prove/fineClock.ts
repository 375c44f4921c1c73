import { ptr } from 'bun:ffi'
import { libc } from '../../src/os/libc.ts'

const clock = libc({ clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } })
const CLOCK_MONOTONIC = process.platform === 'darwin' ? 6 : 1
const timespec = new Uint32Array(new ArrayBuffer(16))
const address = ptr(timespec)

/** Returns the time of the limiter's clock in ms, with fractions: the limiter's exact promises must hold for such times. */
export function fineMs(): number {
  clock().clock_gettime(CLOCK_MONOTONIC, address)
  return (timespec[0] as number) * 1_000 + (timespec[2] as number) / 1e6
}
