// Functions of the C library that the runtime does not have, such as locks of files.
import { dlopen, type FFIFunction } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'

const NAME = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

/** Functions of the C library, opened at their first use: programs that use none also run where there is no glibc. */
export function libc<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  let opened: ReturnType<typeof dlopen<Functions>>['symbols'] | undefined
  return () => (opened ??= dlopen(NAME, functions).symbols)
}

const [LOCK_EX, LOCK_NB, LOCK_UN] = [2, 4, 8]

const file = libc({ flock: { args: ['i32', 'i32'], returns: 'i32' } })

/** Locks the file at `path`, made if missing; null: another process has. The kernel drops the lock when its holder dies. */
export function tryLock(path: string): { release(): void } | null {
  const descriptor = openSync(path, 'a', 0o600)
  if (file().flock(descriptor, LOCK_EX | LOCK_NB) !== 0) {
    closeSync(descriptor)
    return null
  }
  let held = true
  return {
    release() {
      if (held) closeSync(descriptor)
      held = false
    },
  }
}

/** Runs `work` when no other process does so with the same file; the kernel drops the lock when its holder dies. */
export function exclusively<T>(descriptor: number, work: () => T): T {
  if (file().flock(descriptor, LOCK_EX) !== 0) throw new Error('the lock of shared memory cannot be taken')
  try {
    return work()
  } finally {
    file().flock(descriptor, LOCK_UN)
  }
}
