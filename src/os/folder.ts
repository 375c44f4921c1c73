// Folders for shared memory, and locks of ports, so that servers on one machine do not meet.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { freeEnded, isOwnFolder, LOCK, OWNER, PREFIX, removeFolder } from './endedServers.ts'
import { tryLock } from './libc.ts'

/** Kind of the folder for shared memory: in `/dev/shm` if there is one, or on the disk of the data folder. */
type MemoryKind = 'memory' | 'disk'

const SHM_FOLDER = '/dev/shm'
const NUMBERS_MAX = 64
/** Maximum time that a start waits for others that look for memory of servers that have ended. */
const STARTS_MS_MAX = 2_000

/** The folder for the shared memory of the server with this data folder and port, unless another server has taken it. */
export function memoryFolderOf(dataDir: string, port: number, kind: MemoryKind = 'memory'): string {
  const owner = resolve(dataDir)
  const base = kind === 'memory' && existsSync(SHM_FOLDER) ? SHM_FOLDER : join(owner, 'shared')
  return join(base, PREFIX + Bun.hash(`${owner} ${port}`).toString(36))
}

/**
 * Takes a folder for the shared memory of the server with this data folder and port, until the process ends: the one of its
 * last run if it is free, so that requests counted then still count. Frees the memory of servers that have ended.
 * @throws Error of the file system, or where others have taken all names, as other users may in `/dev/shm`
 */
export function takeMemoryFolder(dataDir: string, port: number, kind: MemoryKind = 'memory') {
  const owner = resolve(dataDir)
  const first = memoryFolderOf(dataDir, port, kind)
  mkdirSync(dirname(first), { recursive: true })
  try {
    // With DATABASE_URL nothing else creates DATA_DIR, and `freeEnded` deletes shared memory whose DATA_DIR is gone.
    mkdirSync(owner, { recursive: true })
  } catch {
    // its disk may be read-only
  }
  return inTurn((isAlone) => {
    // Several servers can run with the same data folder and port 0; each takes a folder of its own.
    for (const path of namesFrom(first)) {
      const lock = makeOwn(path) ? tryLock(join(path, LOCK)) : null
      if (lock === null) continue
      writeFileSync(join(path, OWNER), owner)
      if (isAlone) freeEnded(dirname(first))
      const remove = () => {
        removeFolder(path)
        lock.release()
      }
      return { path, release: lock.release, remove }
    }
    throw new Error(`no folder for shared memory can be made beside ${first}`)
  })
}

/**
 * Calls `work` while no other start of this user looks at folders: one that frees the memory of a server that has ended has its
 * lock, and that server would take another folder. `isAlone` false: the lock of starts cannot be had.
 */
export function inTurn<T>(work: (isAlone: boolean) => T): T {
  const lock = lockStarts()
  try {
    return work(lock !== null)
  } finally {
    lock?.release()
  }
}

function lockStarts() {
  const folder = lockFolder()
  if (folder === undefined) return null
  const untilMs = performance.now() + STARTS_MS_MAX
  for (;;) {
    const lock = tryLock(join(folder, 'starts'))
    if (lock !== null || performance.now() > untilMs) return lock
    Bun.sleepSync(5)
  }
}

/** Names that can be foreseen, so that a later run finds its folder again. */
function namesFrom(first: string): string[] {
  return [first, ...Array.from({ length: NUMBERS_MAX - 1 }, (_, index) => `${first}-${index + 2}`)]
}

/** Takes the lock of a port; null: a server of this user on this machine has it. */
export function lockPort(host: string, port: number): { release(): void } | null {
  const folder = lockFolder()
  // Where other users have all names, or no folder can be made, the port itself shows whether it is taken; two starts at one
  // moment may share it.
  if (folder === undefined) return { release: () => undefined }
  return tryLock(join(folder, `${host.replace(/[^\w.]/g, '_')}-${port}`))
}

/** The folder for locks of this user; undefined: it cannot be made. */
function lockFolder(): string | undefined {
  const first = join(existsSync(SHM_FOLDER) ? SHM_FOLDER : tmpdir(), `${PREFIX}ports`)
  try {
    return namesFrom(first).find(makeOwn)
  } catch {
    return undefined
  }
}

/** Makes the folder; false when there is anything else than a folder of this user's alone: it may be in our way on purpose. */
function makeOwn(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return isOwnFolder(path)
}
