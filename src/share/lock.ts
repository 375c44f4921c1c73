import { dlopen } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'

const LOCK_EX = 2
const LOCK_NB = 4

/**
 * Takes the exclusive lock on the file at `path`, made if missing; null when another process holds it.
 * The kernel drops it when its holder dies, so no stale lock is ever left (a process id in a file cannot promise that).
 */
export function tryLock(path: string): { release(): void } | null {
  const file = openSync(path, 'a', 0o600)
  if (flock(file, LOCK_EX | LOCK_NB) !== 0) {
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

/** Opened at its first use: with an external database nothing is locked, also where there is no glibc. */
function flock(file: number, operation: number): number {
  const library = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'
  const { symbols } = dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } })
  return symbols.flock(file, operation)
}
