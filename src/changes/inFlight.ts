import { OWN_WORD, type Region } from '../os/region.ts'
import { noteUse } from './demand.ts'
import { FLAGS_MAX, type Layout, layoutOf, logLength } from './layout.ts'

const { load, store, exchange, compareExchange: swap, add, sub } = Atomics

/** Tables have bits in a flag; those that share one are taken for each other, which costs time alone. */
const TABLE_BITS = 15
const ALL_TABLES = (1 << TABLE_BITS) - 1
/** The write's transaction is the very next after the flag's bound. */
const IDENTIFIED = 1 << TABLE_BITS
const TURN_SHIFT = 16
const TURN_MAX = 0x7fff
/** An answer that may show the write was sent before the write was published: see `declareOverdue`. */
const OVERDUE = 1 << 31
/** What may be set in the word of one write while it is on its way. */
const STATE_BITS = IDENTIFIED | OVERDUE

/** How many flags are overdue, of all writers. */
const OVERDUE_COUNT = OWN_WORD + 5
/** A transaction that has begun, modulo 2^32, and hardly an older one than the newest; 0: none is known. */
const NEWEST = OWN_WORD + 4

/** A write that was on its way: its offset, what stood there, and its bound. */
export interface WriteFlag {
  readonly offset: number
  readonly word: number
  /** Its transaction comes after this one, modulo 2^32; 0: nothing is known of it. */
  readonly bound: number
  /** Every record of the log was appended before the write was sent, if the log is still of this length. */
  readonly mark: number
}

/** A write of this process, from before it is sent until it is published, or did nothing. */
export interface InFlightWrite {
  /** It runs in this transaction. */
  identify(transaction: number): void
  end(): void
}

/** The bit of the table with this number. */
export function tableBit(table: number): number {
  return 1 << (table % TABLE_BITS)
}

/** Whether the flag's transaction is the very next after its bound. */
export function isIdentified({ word }: WriteFlag): boolean {
  return (word & IDENTIFIED) !== 0
}

/** A transaction has begun: those of writes that begin from now on come after it. */
export function noteTransaction({ words }: Region, transaction: number): void {
  const newest = load(words, NEWEST)
  // What another process stores at the same moment may be a little older: a bound that is too low costs time alone.
  if (newest === 0 || ((transaction - newest) | 0) > 0) store(words, NEWEST, transaction | 0)
}

/** Another database may have fewer transactions than the one before. */
export function forgetTransactions({ words }: Region): void {
  store(words, NEWEST, 0)
}

/** Says of each write of this process, before it is sent, that it is on its way. */
export class FlagWriter {
  private readonly layout: Layout
  private readonly first: number
  private readonly bounds: number
  private readonly count: number
  private turn = 0
  /** How many writes have no flag of their own: they share the last one. */
  private overflow = 0

  constructor(
    private readonly region: Region,
    writer: number,
  ) {
    this.layout = layoutOf(region)
    const { counts, flags, bounds } = this.layout
    this.first = flags + writer * FLAGS_MAX
    this.bounds = bounds - flags
    this.count = counts + writer
  }

  /** `tables`: bits of all tableMask whose rows it may change. */
  begin(tableMask: number): InFlightWrite {
    const { words } = this.region
    noteUse(this.region)
    const last = this.first + FLAGS_MAX - 1
    this.turn = (this.turn + 1) & TURN_MAX
    for (let offset = this.first; offset < last; offset++) {
      if (load(words, offset) !== 0) continue
      add(words, this.count, 1)
      this.describe(offset)
      store(words, offset, (this.turn << TURN_SHIFT) | tableMask)
      return { identify: (transaction) => this.identify(offset, transaction), end: () => this.clear(offset) }
    }
    if (this.overflow++ === 0) {
      add(words, this.count, 1)
      this.describe(last)
      store(words, last, ALL_TABLES)
    } else this.lowerBound(last + this.bounds)
    return { identify: () => undefined, end: () => void (--this.overflow === 0 && this.clear(last)) }
  }

  /** Before the flag is set. */
  private describe(offset: number) {
    const { words } = this.region
    const { flags, marks } = this.layout
    store(words, offset + this.bounds, load(words, NEWEST))
    store(words, offset - flags + marks, logLength(this.region, this.layout))
  }

  /** For the flag that several share: after an epoch transactions may be counted from further back. */
  private lowerBound(bound: number) {
    const { words } = this.region
    const newest = load(words, NEWEST)
    if (newest === 0 || ((newest - load(words, bound)) | 0) < 0) store(words, bound, newest)
  }

  private identify(offset: number, transaction: number) {
    const { words } = this.region
    // First, so that a reader that finds the flag finds the transaction; without the flag it is a bound like others.
    store(words, offset + this.bounds, (transaction - 1) | 0)
    Atomics.or(words, offset, IDENTIFIED)
  }

  private clear(offset: number) {
    clearFlag(this.region, offset)
    sub(this.region.words, this.count, 1)
  }
}

/** Ends what is on its way in this offset. */
export function clearFlag({ words }: Region, offset: number): void {
  if (exchange(words, offset, 0) < 0) sub(words, OVERDUE_COUNT, 1)
}

/** Sees which writes of all processes are on their way. */
export class FlagReader {
  private readonly layout: Layout

  constructor(private readonly region: Region) {
    this.layout = layoutOf(region)
  }

  /** The writes on their way that may change rows of these tables. */
  now(tableMask: number): WriteFlag[] {
    const { words } = this.region
    const { counts, flags, writers } = this.layout
    let found: WriteFlag[] = NONE
    for (let writer = 0; writer < writers; writer++) {
      if (load(words, counts + writer) === 0) continue
      const end = flags + (writer + 1) * FLAGS_MAX
      for (let offset = end - FLAGS_MAX; offset < end; offset++) {
        const word = load(words, offset)
        if ((word & tableMask) === 0) continue
        if (found === NONE) found = []
        found.push(this.flagOf(offset, word))
      }
    }
    return found
  }

  /** Whether each of these writes was sent behind every record that is in the log now. */
  areBehindLog(flags: readonly WriteFlag[]): boolean {
    if (flags.length === 0) return true
    const length = logLength(this.region, this.layout)
    return flags.every(({ mark }) => mark === length)
  }

  /** Whether a write on its way may change rows of both. */
  areTogether(tableMask: number, others: number): boolean {
    return this.now(tableMask).some(({ word }) => (word & others) !== 0)
  }

  /** The flags whose writes have not ended, as they are now. */
  still(flags: readonly WriteFlag[]): WriteFlag[] {
    const found: WriteFlag[] = []
    for (const { offset, word } of flags) {
      const now = load(this.region.words, offset)
      if (isSameWrite(word, now)) found.push(this.flagOf(offset, now))
    }
    return found
  }

  /** Whether a write to one of these tableMask is overdue: then the cache of its lists is off. */
  isOverdue(tableMask: number): boolean {
    if (load(this.region.words, OVERDUE_COUNT) === 0) return false
    return this.now(tableMask).some(({ word }) => word < 0)
  }

  /**
   * From now on, and until they end, no process answers lists of their tableMask from memory. An answer from the database
   * that may show them can be sent then: no later one can be without them.
   */
  declareOverdue(flags: readonly WriteFlag[]): void {
    const { words } = this.region
    for (const { offset, word } of flags) {
      // Counted first, so that the flag is never there uncounted.
      add(words, OVERDUE_COUNT, 1)
      let now = load(words, offset)
      while (isSameWrite(word, now) && now >= 0) {
        const before = swap(words, offset, now, now | OVERDUE)
        if (before === now) break
        now = before
      }
      if (!isSameWrite(word, now) || now < 0) sub(words, OVERDUE_COUNT, 1)
    }
  }

  private flagOf(offset: number, word: number): WriteFlag {
    const { words } = this.region
    const { flags, bounds, marks } = this.layout
    const at = offset - flags
    return { offset, word, bound: load(words, at + bounds), mark: load(words, at + marks) }
  }
}

const NONE: WriteFlag[] = []

function isSameWrite(word: number, now: number): boolean {
  return now !== 0 && ((word ^ now) & ~STATE_BITS) === 0
}
