// Shared memory of servers of this user that have ended: found by its locks, and freed.
import { existsSync, lstatSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tryLock } from './libc.ts'
import { freeZeroes, isMapped, isRegion } from './region.ts'

const USER = process.getuid?.() ?? 0
/** Begin of the names of this user's folders. */
export const PREFIX = `roster-${USER}-`
/** File with the data folder of the server that a folder belongs to. */
export const OWNER = 'owner'
/** File that a server locks until it ends. */
export const LOCK = 'lock'
/** Names of tables of rate limits, also of ones that a start was killed while it made. */
const TABLE = /^(?:keys|anonymous|own-[0-9a-z]{1,13})(?:\.part)?$/
/** Names of which the header, which is written last, need not be looked at. */
const UNMISTAKABLE = /^(?:keys|anonymous)$|\.part$/

/**
 * Frees pages that hold nothing in the tables of servers that have ended, so that their counts still count after a restart; and
 * all memory of those whose data folder is gone.
 */
export function freeEnded(base: string): void {
  forEachEnded(base, (path, dataDir) => {
    if (!existsSync(dataDir)) removeFolder(path)
    else for (const table of tablesOf(path)) freeZeroes(table)
  })
}

/** Deletes the memory of servers that have ended, whose counts begin anew. Returns how many there were, and their bytes. */
export function deleteEnded(base: string): { servers: number; bytes: number } {
  const deleted = { servers: 0, bytes: 0 }
  forEachEnded(base, (path) => {
    deleted.servers++
    deleted.bytes += bytesIn(path)
    removeFolder(path)
  })
  return deleted
}

/** Counts the servers that have ended, and the bytes of memory that they keep, without those of one folder. */
export function countEnded(base: string, except = ''): { servers: number; bytes: number } {
  const found = { servers: 0, bytes: 0 }
  forEachEnded(base, (path) => {
    if (path === except) return
    found.servers++
    found.bytes += bytesIn(path)
  })
  return found
}

/** Deletes a folder with the files of a server, and no other files. The caller has its lock. */
export function removeFolder(path: string): void {
  const files = [...tablesOf(path), join(path, OWNER), join(path, LOCK)]
  for (const file of files) rmSync(file, { force: true })
  try {
    rmdirSync(path)
  } catch {
    // a file of another program is in it
  }
}

/** Returns whether a path is a folder of this user alone, and no link to one. */
export function isOwnFolder(path: string): boolean {
  const entry = lstatSync(path)
  return entry.isDirectory() && entry.uid === USER && (entry.mode & 0o077) === 0
}

/** Calls `work` with each folder that is certainly of a server that has ended, and holds its lock meanwhile. */
function forEachEnded(base: string, work: (path: string, dataDir: string) => void) {
  if (!existsSync(base)) return
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(PREFIX))) {
    const path = join(base, name)
    try {
      // A lock that is not there would be made, and say nothing.
      if (!isOwnFolder(path) || ![OWNER, LOCK].every((file) => isOwnFile(join(path, file)))) continue
      const lock = tryLock(join(path, LOCK))
      if (lock === null) continue
      try {
        if (!tablesOf(path).some(isMapped)) work(path, readFileSync(join(path, OWNER), 'utf8'))
      } finally {
        lock.release()
      }
    } catch {
      // it does not say whose it is, or another program is just deleting it
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
