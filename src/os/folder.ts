// Folders for shared memory, and locks of ports, so that servers on one machine do not meet.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { tryLock } from './libc.ts'

/** Kind of the folder for shared memory: in `/dev/shm` if there is one, or on the disk of the data folder. */
type MemoryKind = 'memory' | 'disk'

const SHM_FOLDER = '/dev/shm'
const USER = process.getuid?.() ?? 0
const PREFIX = `roster-${USER}-`
const NUMBERS_MAX = 64
const OWNER = 'owner'

/** The folder for the shared memory of the server with this data folder and port, unless another server has taken it. */
export function memoryFolderOf(dataDir: string, port: number, kind: MemoryKind = 'memory'): string {
  const owner = resolve(dataDir)
  const base = kind === 'memory' && existsSync(SHM_FOLDER) ? SHM_FOLDER : join(owner, 'shared')
  return join(base, PREFIX + Bun.hash(`${owner} ${port}`).toString(36))
}

/**
 * Takes a folder for the shared memory of the server with this data folder and port, until the process ends: the one of its
 * last run if it is free, so that requests counted then still count. Folders of servers whose data folders are gone are deleted.
 * @throws Error of the file system, or where others have taken all names, as other users may in `/dev/shm`
 */
export function takeMemoryFolder(dataDir: string, port: number, kind: MemoryKind = 'memory') {
  const owner = resolve(dataDir)
  const first = memoryFolderOf(dataDir, port, kind)
  mkdirSync(dirname(first), { recursive: true })
  try {
    // With DATABASE_URL nothing else creates DATA_DIR, and `sweep` deletes shared memory whose DATA_DIR is gone.
    mkdirSync(owner, { recursive: true })
  } catch {
    // its disk may be read-only
  }
  sweep(dirname(first), first)
  // Several servers can run with the same data folder and port 0; each takes a folder of its own.
  for (const path of namesFrom(first)) {
    const lock = makeOwn(path) ? tryLock(join(path, 'lock')) : null
    if (lock === null) continue
    writeFileSync(join(path, OWNER), owner)
    return { path, release: lock.release, remove: () => remove(path, lock) }
  }
  throw new Error(`no folder for shared memory can be made beside ${first}`)
}

/** Names that can be foreseen, so that a later run finds its folder again. */
function namesFrom(first: string): string[] {
  return [first, ...Array.from({ length: NUMBERS_MAX - 1 }, (_, index) => `${first}-${index + 2}`)]
}

/** Takes the lock of a port; null: a server of this user on this machine has it. */
export function lockPort(host: string, port: number): { release(): void } | null {
  const first = join(existsSync(SHM_FOLDER) ? SHM_FOLDER : tmpdir(), `${PREFIX}ports`)
  let folder: string | undefined
  try {
    folder = namesFrom(first).find(makeOwn)
  } catch {
    // no folder can be made there
  }
  // Where other users have all names, or no folder can be made, the port itself shows whether it is taken; two starts at one
  // moment may share it.
  if (folder === undefined) return { release: () => undefined }
  return tryLock(join(folder, `${host.replace(/[^\w.]/g, '_')}-${port}`))
}

/** Makes the folder; false when there is anything else than a folder of this user's alone: it may be in our way on purpose. */
function makeOwn(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return isOwn(path) && (lstatSync(path).mode & 0o077) === 0
}

function isOwn(path: string): boolean {
  const entry = lstatSync(path)
  return entry.isDirectory() && entry.uid === USER
}

function sweep(base: string, kept: string) {
  const names = readdirSync(base).filter((name) => name.startsWith(PREFIX))
  for (const path of names.map((name) => join(base, name)).filter((path) => !path.startsWith(kept))) {
    try {
      if (!isOwn(path) || existsSync(readFileSync(join(path, OWNER), 'utf8'))) continue
      const lock = tryLock(join(path, 'lock'))
      if (lock) remove(path, lock)
    } catch {
      // it does not say whose it is, or another start is just deleting it
    }
  }
}

function remove(path: string, lock: { release(): void }) {
  rmSync(path, { recursive: true, force: true })
  lock.release()
}
