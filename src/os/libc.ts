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

const space = libc({
  fallocate: { args: ['i32', 'i32', 'i64', 'i64'], returns: 'i32' },
  posix_fallocate: { args: ['i32', 'i64', 'i64'], returns: 'i32' },
})
const [KEEP_SIZE, PUNCH_HOLE] = [1, 2]
const ENOSPC = 28

/** Gives back the space of bytes of a file, which are zeroes from then on. False: the file system cannot. Linux only. */
export function freeSpace(descriptor: number, at: number, bytes: number): boolean {
  return space().fallocate(descriptor, KEEP_SIZE | PUNCH_HOLE, at, bytes) === 0
}

/** Takes the space of all bytes of a file, which stay as they are. @throws Error ENOSPC when there is no room. Linux only. */
export function takeSpace(descriptor: number, bytes: number): void {
  if (space().posix_fallocate(descriptor, 0, bytes) === ENOSPC) throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
}

const control = libc({ fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' } })
const [SET_SIGNAL, SET_LEASE, WRITE_LEASE, NO_LEASE, SIGURG] = [10, 1_024, 1, 2, 23]

/** Returns whether no other descriptor of any process, and no memory, refers to a file that is open for writing. Linux only. */
export function isOnlyOpen(descriptor: number): boolean {
  const { fcntl } = control()
  // A lease of this kind is given to the only descriptor alone. Who opens the file at this moment causes a signal, here one that
  // ends no process.
  fcntl(descriptor, SET_SIGNAL, SIGURG)
  const isOnly = fcntl(descriptor, SET_LEASE, WRITE_LEASE) === 0
  if (isOnly) fcntl(descriptor, SET_LEASE, NO_LEASE)
  return isOnly
}

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
