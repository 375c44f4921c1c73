// Shared memory: files that several processes map.
import { closeSync, fstatSync, openSync, readFileSync, readSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { freemem } from 'node:os'
import { dirname } from 'node:path'
import { exclusively, freeSpace, isOnlyDescriptor, takeSpace } from './libc.ts'

/**
 * Memory that several processes map: words of 32 bits. The first `HEADER_WORDS` words are a header, which describes the region.
 */
export type Region = ReturnType<typeof openRegion>

export const HEADER_WORDS = 16
/**
 * Index of two random words in the header. They change the hashes of entries, so that clients cannot know which entries collide.
 */
export const SEED_WORD = 6
/** Index of eight words in the header that are free for the region's users, and set to 0 at each start. */
export const USER_WORD = 8

const MAGIC = 0x526f7374 // "Rost"
const VERSION = 1
const ZEROES = new Uint8Array(1 << 20)

/**
 * The file of a region, kept open by the process that creates it. Even after the file is deleted, all processes share it under
 * `path`.
 */
export class RegionFile {
  private descriptor: number | null = null
  private readonly part: string

  /** `format`: meaning of the words. A file of another format, boot or size is replaced. */
  constructor(
    private readonly file: string,
    private readonly format: string,
    private readonly words: number,
  ) {
    this.part = `${file}.part`
  }

  /**
   * Creates the file, or replaces a damaged one. Returns false if the file was already usable. @throws Error if there is no room
   */
  ensure(): boolean {
    if (this.descriptor !== null && this.isGood(this.descriptor)) return false
    this.close()
    rmSync(this.part, { force: true }) // left by a start that was killed
    const existing = this.openGood()
    this.descriptor = existing ?? this.create()
    return existing === null
  }

  /** Path for `openRegion` in other processes, valid while this process lives. */
  get path(): string {
    return process.platform === 'linux' ? `/proc/${process.pid}/fd/${this.descriptor}` : this.file
  }

  close(): void {
    if (this.descriptor !== null) closeSync(this.descriptor)
    this.descriptor = null
  }

  private openGood(): number | null {
    let descriptor: number
    try {
      descriptor = openSync(this.file, 'r+')
    } catch {
      return null
    }
    if (this.isGood(descriptor)) {
      this.fill(descriptor)
      writeSync(descriptor, new Int32Array(HEADER_WORDS - USER_WORD), 0, 4 * (HEADER_WORDS - USER_WORD), 4 * USER_WORD)
      return descriptor
    }
    closeSync(descriptor)
    return null
  }

  /**
   * Allocates the space that `freeZeroes` has freed: on a full memory disk the first access to a missing page kills the process.
   */
  private fill(descriptor: number) {
    const missing = missingBytes(this.file, descriptor)
    if (missing === 0) return
    try {
      requireRoom(this.file, missing)
      takeSpace(descriptor, this.words * 4)
    } catch (error) {
      closeSync(descriptor)
      throw noRoom(this.file, missing, error as NodeJS.ErrnoException)
    }
  }

  private isGood(descriptor: number): boolean {
    const { size } = fstatSync(descriptor)
    if (size !== this.words * 4) return false
    const header = readHeader(descriptor)
    return headerOf(this.format, this.words).every((word, index) => header[index] === word)
  }

  /**
   * Creates the file under another name and renames it when it is complete, so that a file with its final name is always
   * complete. Processes that map the old file keep it.
   */
  private create(): number {
    // The old file cannot be used, and there may be no room for both files.
    rmSync(this.file, { force: true })
    requireRoom(this.file, this.words * 4)
    const descriptor = openSync(this.part, 'w+', 0o600)
    try {
      // Every byte is written: if the memory disk is full, the first access to a missing page would kill the process.
      const bytes = this.words * 4
      for (let at = 0; at < bytes; at += ZEROES.length) writeSync(descriptor, ZEROES, 0, Math.min(ZEROES.length, bytes - at), at)
      const seeds = crypto.getRandomValues(new Int32Array(2))
      const header = new Int32Array([...headerOf(this.format, this.words), ...seeds])
      writeSync(descriptor, header, 0, header.byteLength, 0)
      renameSync(this.part, this.file)
      return descriptor
    } catch (error) {
      closeSync(descriptor)
      rmSync(this.part, { force: true })
      throw noRoom(this.file, this.words * 4, error as NodeJS.ErrnoException)
    }
  }
}

function readHeader(descriptor: number): Int32Array {
  const header = new Int32Array(SEED_WORD)
  readSync(descriptor, header, 0, header.byteLength, 0)
  return header
}

function headerOf(format: string, words: number): number[] {
  return [MAGIC, VERSION, words | 0, Bun.hash.xxHash32(format) | 0, Bun.hash.xxHash32(bootId()) | 0, 0]
}

const PAGE_BYTES = 4096
const ZERO_PAGE = new Uint8Array(PAGE_BYTES)

/**
 * Frees the pages of a region that contain only zeroes. Has no effect if the file is no region, or pages were freed before. Call
 * it only if no process maps the file.
 */
export function freeZeroes(file: string): void {
  if (!isInMemory(file) || !isRegion(file)) return
  const descriptor = openSync(file, 'r+')
  try {
    const { size } = fstatSync(descriptor)
    if (missingBytes(file, descriptor) > 0) return
    const chunk = Buffer.alloc(ZEROES.length)
    let begin = 0
    for (let at = 0; at < size; at += chunk.length) {
      const bytes = readSync(descriptor, chunk, 0, chunk.length, at)
      // The last page is kept, because it may be incomplete.
      for (let page = 0; page < bytes; page += PAGE_BYTES) {
        if (chunk.subarray(page, Math.min(bytes, page + PAGE_BYTES)).equals(ZERO_PAGE)) continue
        if (at + page > begin) freeSpace(descriptor, begin, at + page - begin)
        begin = at + page + PAGE_BYTES
      }
    }
    const end = Math.floor(size / PAGE_BYTES) * PAGE_BYTES
    if (end > begin) freeSpace(descriptor, begin, end - begin)
  } finally {
    closeSync(descriptor)
  }
}

/** Returns whether a file has the header of a region. */
export function isRegion(file: string): boolean {
  const descriptor = openSync(file, 'r')
  try {
    const [magic, version, words] = readHeader(descriptor)
    return magic === MAGIC && version === VERSION && words === fstatSync(descriptor).size / 4
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Returns whether a process maps the file. Even if a server's lock is free, one of its workers may still map the file: a worker
 * can briefly outlive the supervisor, which holds the lock.
 */
export function isMapped(file: string): boolean {
  if (!isInMemory(file)) return false
  const descriptor = openSync(file, 'r+')
  try {
    return !isOnlyDescriptor(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Returns how many bytes of a file have no space allocated; 0 if the file system is not in memory. */
function missingBytes(file: string, descriptor: number): number {
  const { size, blocks } = fstatSync(descriptor)
  return isInMemory(file) ? Math.max(0, size - 512 * blocks) : 0
}

function isInMemory(file: string): boolean {
  return process.platform === 'linux' && statfsSync(dirname(file)).type === TMPFS_MAGIC
}

/** Maps the region at `path`, which a `RegionFile` of this or another process has created. */
export function openRegion(path: string) {
  const descriptor = openSync(path, 'r+')
  const bytes = Bun.mmap(path, { shared: true })
  const words: Int32Array = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  return {
    words,
    /** Runs `work` while this process holds the lock of the region. The lock ends with its process. */
    exclusive: <T>(work: () => T): T => exclusively(descriptor, work),
    /** Closes the file. The memory is freed when `words` is no longer referred to. */
    close: () => closeSync(descriptor),
  }
}

const WORDS_MAX = 2 ** 31 - 1
/** Type of tmpfs in `statfs`: a file system in memory, whose size can exceed the machine's memory. */
const TMPFS_MAGIC = 0x01021994
const MEMORY_SHARE = 0.8
const FULL = ['ENOSPC', 'EFBIG', 'EDQUOT']

/**
 * Requires room for a region before it is written. Otherwise, a region that does not fit would fill the machine's memory before
 * writing fails.
 */
function requireRoom(file: string, bytes: number) {
  const { bavail, bsize, type } = statfsSync(dirname(file))
  const room = type === TMPFS_MAGIC ? Math.min(bavail * bsize, MEMORY_SHARE * freemem()) : bavail * bsize
  if (bytes > WORDS_MAX * 4 || bytes > room) throw noRoom(file, bytes, { code: 'ENOSPC' })
}

/**
 * Returns an error that names the file and the room that it needs; returns `error` unchanged if it has another cause than lack of
 * space.
 */
function noRoom(file: string, bytes: number, error: { code?: string }): Error {
  if (error instanceof Error && !FULL.includes(error.code ?? '')) return error
  const need = `${(bytes / 2 ** 20).toFixed(1)} MiB`
  return new Error(`there is no room for ${need} of shared memory at ${file}: free some, or set RATE_LIMIT_CLIENTS lower`, {
    cause: error,
  })
}

/**
 * Returns the id of this boot. It is part of the header, because times in a region come from the monotonic clock, which starts
 * with the boot.
 */
function bootId(): string {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  return Bun.spawnSync(['sysctl', '-n', 'kern.bootsessionuuid']).stdout.toString().trim()
}
