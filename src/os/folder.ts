// Folders for shared memory and locks of ports, so that servers on one machine do not collide.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { freeEnded, isOwnFolder, LOCK, OWNER, PREFIX, removeFolder } from './endedServers.ts'
import { tryLock } from './libc.ts'

/** Location of shared memory. `memory`: in `/dev/shm` if that exists, else in the data folder. `disk`: in the data folder. */
type MemoryKind = 'memory' | 'disk'

const SHM_FOLDER = '/dev/shm'
const NUMBERS_MAX = 64
/** Maximum time that a start waits for the lock which all starts of this user take. */
const STARTS_MS_MAX = 2_000

/**
 * Returns the folder that a server with this data folder and port uses for its shared memory, unless another server has taken the
 * folder.
 */
export function memoryFolderOf(dataDir: string, port: number, kind: MemoryKind = 'memory'): string {
  const owner = resolve(dataDir)
  const base = kind === 'memory' && existsSync(SHM_FOLDER) ? SHM_FOLDER : join(owner, 'shared')
  return join(base, PREFIX + Bun.hash(`${owner} ${port}`).toString(36))
}

/**
 * Takes a folder for the shared memory of the server with this data folder and port, until the process ends. It is the folder of
 * the last run if no other server has it, so that requests of the last run still count towards limits. Frees the memory of ended
 * servers. @throws Error of the file system, or if other users have taken all names in `/dev/shm`
 */
export function takeMemoryFolder(dataDir: string, port: number, kind: MemoryKind = 'memory') {
  const owner = resolve(dataDir)
  const first = memoryFolderOf(dataDir, port, kind)
  mkdirSync(dirname(first), { recursive: true })
  try {
    // With DATABASE_URL nothing else creates DATA_DIR, and `freeEnded` deletes shared memory whose DATA_DIR is gone.
    mkdirSync(owner, { recursive: true })
  } catch {
    // The disk may be read-only.
  }
  return withStartLock((hasLock) => {
    // Several servers can run with the same data folder and port 0, so each takes its own folder.
    for (const path of namesFrom(first)) {
      const lock = makeOwnFolder(path) ? tryLock(join(path, LOCK)) : null
      if (lock === null) continue
      writeFileSync(join(path, OWNER), owner)
      if (hasLock) freeEnded(dirname(first))
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
 * Runs `work` while this process holds the lock which all starts of this user take. Without the lock, a start that frees the
 * memory of ended servers could lock a folder that a restarting server needs. `hasLock`: false if the lock could not be taken in
 * time; then `work` runs without it.
 */
export function withStartLock<T>(work: (hasLock: boolean) => T): T {
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

/** Returns the folders to try, in a fixed order, so that a later run finds its folder again. */
function namesFrom(first: string): string[] {
  return [first, ...Array.from({ length: NUMBERS_MAX - 1 }, (_, index) => `${first}-${index + 2}`)]
}

/** Locks a port. Returns null if another server of this user on this machine has locked it. */
export function lockPort(host: string, port: number): { release(): void } | null {
  const folder = lockFolder()
  // Without a lock folder, a start can only try whether the port is free, so two starts at the same moment can both take it.
  if (folder === undefined) return { release: () => undefined }
  return tryLock(join(folder, `${host.replace(/[^\w.]/g, '_')}-${port}`))
}

/** Returns the folder for locks of this user; undefined if it cannot be created. */
function lockFolder(): string | undefined {
  const first = join(existsSync(SHM_FOLDER) ? SHM_FOLDER : tmpdir(), `${PREFIX}ports`)
  try {
    return namesFrom(first).find(makeOwnFolder)
  } catch {
    return undefined
  }
}

/**
 * Creates the folder. Returns false if a file, a link or a folder of another user has this name. Another user may have made it on
 * purpose.
 */
function makeOwnFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return isOwnFolder(path)
}
