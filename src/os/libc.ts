// Functions of the C library that the runtime lacks, such as file locks.
import { dlopen, type FFIFunction } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'

const NAME = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'

/** Opens functions of the C library at first use, so that programs that use no such function also run without glibc. */
export function libc<Functions extends Record<string, FFIFunction>>(functions: Functions) {
  let opened: ReturnType<typeof dlopen<Functions>>['symbols'] | undefined
  return () => (opened ??= dlopen(NAME, functions).symbols)
}

const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8

const file = libc({ flock: { args: ['i32', 'i32'], returns: 'i32' } })

const space = libc({
  fallocate: { args: ['i32', 'i32', 'i64', 'i64'], returns: 'i32' },
  posix_fallocate: { args: ['i32', 'i64', 'i64'], returns: 'i32' },
})
const KEEP_SIZE = 1
const PUNCH_HOLE = 2
const ENOSPC = 28

/**
 * Frees the space of a range in a file. From then on, the range reads as zeroes. Returns false if the file system cannot do that.
 * Linux only.
 */
export function freeSpace(descriptor: number, at: number, bytes: number): boolean {
  return space().fallocate(descriptor, KEEP_SIZE | PUNCH_HOLE, at, bytes) === 0
}

/** Allocates space for all bytes of a file without changing them. @throws Error ENOSPC if there is no room. Linux only. */
export function takeSpace(descriptor: number, bytes: number): void {
  if (space().posix_fallocate(descriptor, 0, bytes) === ENOSPC) throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
}

const control = libc({ fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' } })
const SET_SIGNAL = 10
const SET_LEASE = 1_024
const WRITE_LEASE = 1
const NO_LEASE = 2
const SIGURG = 23

/**
 * Returns whether no other descriptor or mapping of this file exists in any process. The file must be open for writing. Linux
 * only.
 */
export function isOnlyDescriptor(descriptor: number): boolean {
  const { fcntl } = control()
  // The kernel grants this kind of lease only to the sole descriptor. If another process opens the file at this moment, the
  // kernel sends a signal: here SIGURG, which has no effect.
  fcntl(descriptor, SET_SIGNAL, SIGURG)
  const isOnly = fcntl(descriptor, SET_LEASE, WRITE_LEASE) === 0
  if (isOnly) fcntl(descriptor, SET_LEASE, NO_LEASE)
  return isOnly
}

/**
 * Locks the file at `path`, which is created if it is missing. Returns null if another process has locked it. The lock ends with
 * its process.
 */
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

/** Runs `work` while this process holds the lock of the file. The lock ends with its process. */
export function exclusively<T>(descriptor: number, work: () => T): T {
  if (file().flock(descriptor, LOCK_EX) !== 0) throw new Error('the lock of shared memory cannot be taken')
  try {
    return work()
  } finally {
    file().flock(descriptor, LOCK_UN)
  }
}
