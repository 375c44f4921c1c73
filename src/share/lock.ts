import { dlopen } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'

const LOCK_EX = 2
const LOCK_NB = 4

const { symbols: libc } = dlopen(process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6', {
  flock: { args: ['i32', 'i32'], returns: 'i32' },
})

/**
 * Takes the exclusive lock on the file at `path`, made if missing; null when another process holds it.
 * The kernel drops it when its holder dies, so no stale lock is ever left (a process id in a file cannot promise that).
 */
export function tryLock(path: string): { release(): void } | null {
  const file = openSync(path, 'a', 0o600)
  if (libc.flock(file, LOCK_EX | LOCK_NB) !== 0) {
    closeSync(file)
    return null
  }
  let held = true
  return {
    release() {
      if (held) closeSync(file)
      held = false
    },
  }
}
