import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
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
  sweep(dirname(first))
  // Another place where port 0 lets several servers run with the same data folder.
  for (let place = 1; place <= PLACES_MAX; place++) {
    const path = place === 1 ? first : `${first}-${place}`
    const lock = lockFolder(path, owner)
    if (lock) return { path, release: lock.release }
  }
  throw new Error(`more than ${PLACES_MAX} servers use the data folder ${owner}`)
}

/** Null: a server on this machine, of this user, has the port. */
export function lockPort(host: string, port: number): { release(): void } | null {
  return tryLock(join(tmpdir(), `roster-${USER}-${host.replace(/[^\w.]/g, '_')}-${port}.lock`))
}

function lockFolder(path: string, owner: string) {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const { uid, mode } = statSync(path)
  if (uid !== USER || (mode & 0o077) !== 0)
    throw new Error(`${path} is open to others: remove it, and the server makes it anew`)
  const lock = tryLock(join(path, 'lock'))
  if (lock) writeFileSync(join(path, OWNER), owner)
  return lock
}

function sweep(base: string) {
  for (const entry of readdirSync(base).filter((name) => name.startsWith(PREFIX))) {
    const path = join(base, entry)
    try {
      if (existsSync(readFileSync(join(path, OWNER), 'utf8'))) continue
      const lock = tryLock(join(path, 'lock'))
      if (lock) rmSync(path, { recursive: true, force: true })
      lock?.release()
    } catch {
      // somebody else's, or just being swept by another start
    }
  }
}
