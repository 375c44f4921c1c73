// Shared memory that ended servers of this user have left: finds its folders by their locks, and frees the memory.
import { existsSync, lstatSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from './libc.ts'
import { freeZeroes, isMapped, isRegion } from './region.ts'

const USER = process.getuid?.() ?? 0
/** Prefix of the names of this user's folders. */
export const PREFIX = `roster-${USER}-`
/** Name of the file that contains the path of the server's data folder. */
export const OWNER = 'owner'
/** Name of the file that a server locks until it ends. */
export const LOCK = 'lock'
/** Matches names of rate-limit tables, also of incomplete tables that a killed start has left. */
const TABLE = /^(?:keys|anonymous|persons|own-[0-9a-z]{1,13})(?:\.part)?$/
/**
 * Matches names that only tables have. Such a file is a table even without a header: a start writes the header last, and may have
 * been killed before.
 */
const UNMISTAKABLE = /^(?:keys|anonymous|persons)$|\.part$/

/**
 * Frees empty pages in the tables of ended servers, but keeps the counts for a restart. Deletes all memory of servers whose data
 * folder is gone.
 */
export function freeEnded(base: string): void {
  forEachEnded(base, (path, dataDir) => {
    if (!existsSync(dataDir)) removeFolder(path)
    else for (const table of tablesOf(path)) freeZeroes(table)
  })
}

/**
 * Deletes the memory of ended servers. If such a server starts again, its counts begin at 0. Returns the number of servers, and
 * the bytes of their memory.
 */
export function deleteEnded(base: string): { servers: number; bytes: number } {
  const deleted = { servers: 0, bytes: 0 }
  forEachEnded(base, (path) => {
    deleted.servers++
    deleted.bytes += bytesIn(path)
    removeFolder(path)
  })
  return deleted
}

/** Returns the number of ended servers and the bytes of their memory, without the server whose folder is `except`. */
export function countEnded(base: string, except = ''): { servers: number; bytes: number } {
  const found = { servers: 0, bytes: 0 }
  forEachEnded(base, (path) => {
    if (path === except) return
    found.servers++
    found.bytes += bytesIn(path)
  })
  return found
}

/** Deletes a server's files, and its folder if no other files are in it. The caller must hold the folder's lock. */
export function removeFolder(path: string): void {
  const files = [...tablesOf(path), join(path, OWNER), join(path, LOCK)]
  for (const file of files) rmSync(file, { force: true })
  try {
    rmdirSync(path)
  } catch {
    // Another program has put a file into the folder.
  }
}

/** Returns whether a path is a folder that only this user can access, and not a link to such a folder. */
export function isOwnFolder(path: string): boolean {
  const entry = lstatSync(path)
  return entry.isDirectory() && entry.uid === USER && (entry.mode & 0o077) === 0
}

/** Calls `work` with each folder that certainly belongs to an ended server, while it holds the folder's lock. */
function forEachEnded(base: string, work: (path: string, dataDir: string) => void) {
  if (!existsSync(base)) return
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(PREFIX))) {
    const path = join(base, name)
    try {
      // `tryLock` would create a missing lock file, and the lock of a new file does not prove that the server has ended.
      if (!isOwnFolder(path) || ![OWNER, LOCK].every((file) => isOwnFile(join(path, file)))) continue
      const lock = tryLock(join(path, LOCK))
      if (lock === null) continue
      try {
        if (!tablesOf(path).some(isMapped)) work(path, readFileSync(join(path, OWNER), 'utf8'))
      } finally {
        lock.release()
      }
    } catch {
      // The file with the path of the data folder is missing, or another program is deleting the folder.
    }
  }
}

function tablesOf(path: string): string[] {
  const isTable = (name: string) =>
    TABLE.test(name) && isOwnFile(join(path, name)) && (UNMISTAKABLE.test(name) || isRegion(join(path, name)))
  return readdirSync(path)
    .filter(isTable)
    .map((name) => join(path, name))
}

function isOwnFile(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  return entry?.isFile() === true && entry.uid === USER
}

function bytesIn(path: string): number {
  return tablesOf(path).reduce((sum, file) => sum + 512 * lstatSync(file).blocks, 0)
}
