import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { tryLock } from './lock.ts'

/** A folder for shared memory that this process has to itself until it ends. */
export interface MemoryFolder {
  readonly path: string
  release(): void
}

const SHM_FOLDER = '/dev/shm'
const USER = process.getuid?.() ?? 0
const PREFIX = `roster-${USER}-`
/** Servers with one data folder at once; port 0 lets there be several. */
const SERVERS_MAX = 64
const OWNER = 'owner'

/** The folder for the shared memory of the server with this data folder and port, unless another server has taken it. */
export function memoryFolderOf(dataDir: string, port: number): string {
  const owner = resolve(dataDir)
  const base = existsSync(SHM_FOLDER) ? SHM_FOLDER : join(owner, 'shared')
  return join(base, PREFIX + Bun.hash(`${owner} ${port}`).toString(36))
}

/**
 * Takes a folder for the shared memory of the server with this data folder and port: the one of its last run if it is
 * free, so that requests counted then still count. Folders of servers whose data folders are gone are deleted.
 */
export function takeMemoryFolder(dataDir: string, port: number): MemoryFolder {
  const owner = resolve(dataDir)
  const first = memoryFolderOf(dataDir, port)
  mkdirSync(dirname(first), { recursive: true })
  makeDataFolder(owner)
  sweep(dirname(first), first)
  // Several servers can run with the same data folder and port 0; each takes a folder of its own.
  for (let number = 1; number <= SERVERS_MAX; number++) {
    const path = number === 1 ? first : `${first}-${number}`
    const lock = lockFolder(path, owner)
    if (lock) return { path, release: lock.release }
  }
  throw new Error(`more than ${SERVERS_MAX} servers use the data folder ${owner}`)
}

/** With DATABASE_URL nothing else creates DATA_DIR, and `sweep` deletes shared memory whose DATA_DIR is gone. */
function makeDataFolder(path: string) {
  try {
    mkdirSync(path, { recursive: true })
  } catch {
    // it lies on a disk that cannot be written, for example
  }
}

/** Takes the lock of a port; null: a server of this user on this machine has it. */
export function lockPort(host: string, port: number): { release(): void } | null {
  const folder = join(existsSync(SHM_FOLDER) ? SHM_FOLDER : tmpdir(), `${PREFIX}ports`)
  // Where another user owns the folder, the port itself shows whether it is taken; two starts at one moment may share it.
  if (!makeOwn(folder)) return { release: () => undefined }
  return tryLock(join(folder, `${host.replace(/[^\w.]/g, '_')}-${port}`))
}

function lockFolder(path: string, owner: string) {
  if (!makeOwn(path)) return null
  const lock = tryLock(join(path, 'lock'))
  if (lock) writeFileSync(join(path, OWNER), owner)
  return lock
}

/** Makes the folder; false when there is a link, or the folder of another user, who may have put it in our way. */
function makeOwn(path: string): boolean {
  if (!isThere(path)) mkdirSync(path, { mode: 0o700 })
  if (!isOwn(path)) return false
  if ((lstatSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} is open to other users: remove it, and the server makes it anew`)
  return true
}

/** Whether there is a file, a folder or a link, wherever that leads. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
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
      if (lock) rmSync(path, { recursive: true, force: true })
      lock?.release()
    } catch {
      // it does not say whose it is, or another start is just deleting it
    }
  }
}
