import { monotonicMs } from '../os/clock.ts'
import { OWN_WORD, type Region } from '../os/region.ts'
import { noteUse } from './demand.ts'
import { clearFlag, forgetTransactions } from './inFlight.ts'
import { FLAGS_MAX, type Layout, layoutOf, RING_WORDS, ringOf } from './layout.ts'

const { load, store, add, sub } = Atomics

/** Raised when records may be missing: a process that sees another value drops its cache. PostgreSQL's sinval: reset. */
const EPOCH = OWN_WORD
/** Until when writes from outside this machine are known, by the monotonic clock; the lease runs from there. */
const LEASE = OWN_WORD + 1
const LEASE_MS = 500
/** Bits of the tables whose lists must come from the database. */
const WITHHELD = OWN_WORD + 2
/** How far a slot was read and published, in two words of 30 bits; 0 and 0: none is read. */
const POSITION = [OWN_WORD + 3, OWN_WORD + 6] as const
const POSITION_BITS = 30
const TIME = 0x7fffffff
/** A record is at most so long, so that a reader knows how far a writer may be ahead of its head. */
const RECORD_WORDS_MAX = RING_WORDS >> 3
/** In the offset of a length: the next record is at the ring's beginning. */
const SKIP = -1

/**
 * The change log of one machine: a ring in shared memory for each writer, read by all, like PostgreSQL's shared cache
 * invalidation (sinvaladt.h), whose reset is the epoch here.
 *
 * Only its owner writes to a ring, so nothing is locked, and a process that dies blocks no other. A record is there for
 * others once `append` has returned: its words are stored before the head, and the head is what a reader loads first.
 * Heads count words, modulo 2^32. A reader copies a record and then looks at the head again: while the writer was less
 * than a ring ahead, nothing of the copy was overwritten; else the reader has lost records, and says so.
 */
export class ChangeLogWriter {
  private readonly base: number
  private readonly length: number
  private readonly head: number

  constructor(
    private readonly region: Region,
    writer: number,
  ) {
    const layout = layoutOf(region)
    this.head = layout.heads + writer
    const { base, length } = ringOf(layout, writer)
    this.base = base
    this.length = length
  }

  /** Appends a record for all readers. False: the text is too long for one; nothing was appended. */
  append(text: string): boolean {
    const { words } = this.region
    const bytes = Buffer.from(text)
    const length = 1 + ((bytes.length + 3) >> 2)
    if (length > RECORD_WORDS_MAX) return false
    const before = load(words, this.head)
    let head = before
    let offset = head & (this.length - 1)
    if (offset + length > this.length) {
      store(words, this.base + offset, SKIP)
      head = (head + this.length - offset) | 0
      offset = 0
    }
    store(words, this.base + offset, bytes.length)
    for (let at = 1, byte = 0; at < length; at++, byte += 4) store(words, this.base + offset + at, wordOf(bytes, byte))
    const next = (head + length) | 0
    // A reader that has not looked for 2^32 words would take an old head for the new one.
    if (next >= 0 && before < 0) bumpEpoch(this.region)
    store(words, this.head, next)
    return true
  }
}

/** Records may be missing, as of a writer that has died: every process drops its cache. */
export function bumpEpoch(region: Region): void {
  forgetTransactions(region)
  add(region.words, EPOCH, 1)
  // Once more: a writer that still saw the earlier epoch may have noted one in between.
  forgetTransactions(region)
}

/** Another one whenever records may be missing, or the database may be another, or an older one of its states. */
export function epochOf({ words }: Region): number {
  return load(words, EPOCH)
}

/** All writes from outside this machine until `untilMs` of the monotonic clock are in this log. */
export function renewLease({ words }: Region, untilMs: number = monotonicMs()): void {
  store(words, LEASE, untilMs & TIME)
}

/** So long the news of writes from outside this machine have taken. */
export function noteLag(region: Region, lagMs: number): void {
  store(region.words, layoutOf(region).lag, lagMs)
}

/** As of the last pulse, in milliseconds. */
export function lagOf(region: Region): number {
  return load(region.words, layoutOf(region).lag)
}

/** Ends the lease: writes from outside this machine are not known until `renewLease`. */
export function expireLease({ words }: Region): void {
  store(words, LEASE, (monotonicMs() - LEASE_MS) & TIME)
}

/** From now on lists of exactly these tables must come from the database. Caches must be dropped too: see `bumpEpoch`. */
export function withhold({ words }: Region, tables: number): void {
  store(words, WITHHELD, tables)
}

/** All that the database has committed before this position of its log is in this one. */
export function notePosition({ words }: Region, position: bigint): void {
  // The low one first: with an earlier high one it is an earlier position, and not a later one.
  store(words, POSITION[1], Number(position & BigInt(2 ** POSITION_BITS - 1)))
  store(words, POSITION[0], Number(position >> BigInt(POSITION_BITS)))
}

/** Whether all writes from outside this machine until some moment after `sinceMs` of the monotonic clock are in this log. */
export function isLeasedSince({ words }: Region, sinceMs: number): boolean {
  return ((load(words, LEASE) - sinceMs - 1) & TIME) < TIME >> 1
}

/** Whether rows that others have written come one by one, those of cascades too. */
export function isFed({ words }: Region): boolean {
  return load(words, POSITION[0]) !== 0 || load(words, POSITION[1]) !== 0
}

/** A write of this writer has an unknown outcome: from this instant on the cache is off in every process. */
export function addUnknownOutcome(region: Region, writer: number): void {
  add(region.words, layoutOf(region).unknownOutcomes + writer, 1)
}

/** One unknown outcome less. Caches must have been dropped before: see `bumpEpoch`. */
export function settleUnknownOutcome(region: Region, writer: number): void {
  sub(region.words, layoutOf(region).unknownOutcomes + writer, 1)
}

/** Clears the flags and unknown outcomes of a process that has ended. Its ring goes on. */
export function clearWriter(region: Region, writer: number): void {
  const { counts, unknownOutcomes, flags } = layoutOf(region)
  for (let flag = 0; flag < FLAGS_MAX; flag++) clearFlag(region, flags + writer * FLAGS_MAX + flag)
  store(region.words, counts + writer, 0)
  store(region.words, unknownOutcomes + writer, 0)
}

/** Reads what all writers append, from now on. */
export class ChangeLogReader {
  private readonly layout: Layout
  private readonly tails: Int32Array
  /** As of the last call of `read`. */
  epoch: number

  constructor(private readonly region: Region) {
    this.epoch = epochOf(region)
    this.layout = layoutOf(region)
    this.tails = new Int32Array(this.layout.writers)
    this.skipAll()
  }

  /** False: the lease has run out, or a write has an unknown outcome. */
  get isLive(): boolean {
    const { words } = this.region
    const { unknownOutcomes, writers } = this.layout
    const nowMs = monotonicMs()
    noteUse(this.region, nowMs)
    for (let writer = 0; writer < writers; writer++) if (load(words, unknownOutcomes + writer) !== 0) return false
    return ((nowMs - load(words, LEASE)) & TIME) < LEASE_MS
  }

  /** Whether lists of one of these tables must come from the database. */
  isWithheld(tables: number): boolean {
    return (load(this.region.words, WITHHELD) & tables) !== 0
  }

  /**
   * Gives each record since the last call to `take`, in the order of its writer. False: some are lost, and what is known
   * from before is worth nothing; the next call begins with what comes after this one.
   */
  read(take: (text: string) => void): boolean {
    const { words } = this.region
    const epoch = epochOf(this.region)
    let isWhole = epoch === this.epoch
    for (let writer = 0; writer < this.tails.length && isWhole; writer++) {
      if (load(words, this.layout.heads + writer) !== this.tails[writer]) isWhole = this.readRing(writer, take)
    }
    if (!isWhole) {
      this.epoch = epoch
      this.skipAll()
    }
    return isWhole
  }

  private readRing(writer: number, take: (text: string) => void): boolean {
    const { words } = this.region
    const { base, length: ring } = ringOf(this.layout, writer)
    const head = load(words, this.layout.heads + writer)
    let tail = this.tails[writer] as number
    while (tail !== head) {
      const offset = tail & (ring - 1)
      const bytes = load(words, base + offset)
      const length = 1 + ((bytes + 3) >> 2)
      const isRecord = bytes >= 0 && length <= RECORD_WORDS_MAX
      const text = isRecord ? this.copy(base + offset + 1, bytes) : ''
      if ((!isRecord && bytes !== SKIP) || this.isOverwritten(writer, tail, ring)) return false
      tail = (tail + (isRecord ? length : ring - offset)) | 0
      if (isRecord) take(text)
    }
    this.tails[writer] = tail
    return true
  }

  /** Whether the writer may have come round to `tail`, with the record that it is writing. */
  private isOverwritten(writer: number, tail: number, ring: number): boolean {
    const ahead = (load(this.region.words, this.layout.heads + writer) - tail) >>> 0
    return ahead > ring - 2 * RECORD_WORDS_MAX
  }

  private copy(from: number, byteLength: number): string {
    const bytes = Buffer.allocUnsafe((byteLength + 3) & ~3)
    for (let byte = 0, at = from; byte < byteLength; byte += 4, at++)
      bytes.writeInt32LE(load(this.region.words, at), byte)
    return bytes.toString('utf8', 0, byteLength)
  }

  private skipAll() {
    for (let writer = 0; writer < this.tails.length; writer++)
      this.tails[writer] = load(this.region.words, this.layout.heads + writer)
  }
}

/** Four bytes, or what is left, with zeros behind. */
function wordOf(bytes: Buffer, from: number): number {
  if (from + 4 <= bytes.length) return bytes.readInt32LE(from)
  let word = 0
  for (let byte = from; byte < bytes.length; byte++) word |= (bytes[byte] as number) << (8 * (byte - from))
  return word
}
