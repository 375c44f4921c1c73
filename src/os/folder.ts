import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { tryLock } from './lock.ts'

/** A folder for shared memory that this process has to itself until it ends. */
export interface MemoryFolder {
  readonly path: string
  release(): void
}

const MEMORY_DISK = '/dev/shm'
const USER = process.getuid?.() ?? 0
const PREFIX = `roster-${USER}-`
/** More servers than anybody runs in one data folder. */
const PLACES_MAX = 64
const OWNER = 'owner'

/** Where the memory of the server with this data folder and port lies, unless another server has that place. */
export function memoryFolderOf(dataDir: string, port: number): string {
  const owner = resolve(dataDir)
  const base = existsSync(MEMORY_DISK) ? MEMORY_DISK : join(owner, 'shared')
  return join(base, PREFIX + Bun.hash(`${owner} ${port}`).toString(36))
}

/**
 * Takes the folder in which the memory of the server with this data folder and port lies: the one of its last run if it
 * is free, so that what was counted is not forgotten. What servers left whose data folders are gone is thrown away.
 */
export function takeMemoryFolder(dataDir: string, port: number): MemoryFolder {
  const owner = resolve(dataDir)
  const first = memoryFolderOf(dataDir, port)
  mkdirSync(dirname(first), { recursive: true })
  makeDataFolder(owner)
  sweep(dirname(first), first)
  // Another place where port 0 lets several servers run with the same data folder.
  for (let place = 1; place <= PLACES_MAX; place++) {
    const path = place === 1 ? first : `${first}-${place}`
    const lock = lockFolder(path, owner)
    if (lock) return { path, release: lock.release }
  }
  throw new Error(`more than ${PLACES_MAX} servers use the data folder ${owner}`)
}

/** Where the database is elsewhere nobody else makes it, and its being there is what keeps the memory from a sweep. */
function makeDataFolder(path: string) {
  try {
    mkdirSync(path, { recursive: true })
  } catch {
    // a disk that cannot be written, say
  }
}

/** Null: a server on this machine, of this user, has the port. */
export function lockPort(host: string, port: number): { release(): void } | null {
  const folder = join(existsSync(MEMORY_DISK) ? MEMORY_DISK : tmpdir(), `${PREFIX}ports`)
  // Where somebody else has made it, the port itself must tell; only two starts at one moment could both have it.
  if (!makeOwn(folder)) return { release: () => undefined }
  return tryLock(join(folder, `${host.replace(/[^\w.]/g, '_')}-${port}`))
}

function lockFolder(path: string, owner: string) {
  if (!makeOwn(path)) return null
  const lock = tryLock(join(path, 'lock'))
  if (lock) writeFileSync(join(path, OWNER), owner)
  return lock
}

/** Makes the folder; false when it is there and somebody else's, who may have put it, or a link, in our way. */
function makeOwn(path: string): boolean {
  if (!isThere(path)) mkdirSync(path, { mode: 0o700 })
  if (!isOwn(path)) return false
  if ((lstatSync(path).mode & 0o077) !== 0)
    throw new Error(`${path} is open to others: remove it, and the server makes it anew`)
  return true
}

/** A link counts, wherever it leads. */
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
      // it says of nobody whose it is, or is just being swept by another start
    }
  }
}
