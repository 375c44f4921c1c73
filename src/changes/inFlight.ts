import { OWN_WORD, type Region } from '../os/region.ts'
import { noteUse } from './demand.ts'
import { FLAGS_MAX, type Places, layoutOf } from './layout.ts'

const { load, store, exchange, compareExchange: swap, add, sub } = Atomics

/** Tables have bits in a mark; those that share one are taken for each other, which costs time alone. */
const TABLE_BITS = 15
const ALL_TABLES = (1 << TABLE_BITS) - 1
/** The write's transaction is the very next after the mark's bound. */
const IDENTIFIED = 1 << TABLE_BITS
const TURN_SHIFT = 16
const TURN_MAX = 0x7fff
/** An answer that may show the write was sent before the write was published: see `declareOverdue`. */
const OVERDUE = 1 << 31
/** What may be set in the word of one write while it is on its way. */
const FLAGS = IDENTIFIED | OVERDUE

/** How many marks are overdue, of all writers. */
const OVERDUE_COUNT = OWN_WORD + 5
/** A transaction that has begun, modulo 2^32, and hardly an older one than the newest; 0: none is known. */
const NEWEST = OWN_WORD + 4

/** A write that was on its way: its place, what stood there, and its bound. */
export interface Mark {
  readonly place: number
  readonly word: number
  /** Its transaction comes after this one, modulo 2^32; 0: nothing is known of it. */
  readonly bound: number
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

/** Whether the mark's transaction is the very next after its bound. */
export function isIdentified({ word }: Mark): boolean {
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
  private readonly first: number
  private readonly bounds: number
  private readonly count: number
  private turn = 0
  /** So many writes have no mark of their own: the last place is theirs together. */
  private crowd = 0

  constructor(
    private readonly region: Region,
    writer: number,
  ) {
    const { counts, marks, bounds } = layoutOf(region)
    this.first = marks + writer * FLAGS_MAX
    this.bounds = bounds - marks
    this.count = counts + writer
  }

  /** `tables`: bits of all tables whose rows it may change. */
  begin(tables: number): InFlightWrite {
    const { words } = this.region
    noteUse(this.region)
    const last = this.first + FLAGS_MAX - 1
    this.turn = (this.turn + 1) & TURN_MAX
    for (let place = this.first; place < last; place++) {
      if (load(words, place) !== 0) continue
      add(words, this.count, 1)
      store(words, place + this.bounds, load(words, NEWEST))
      store(words, place, (this.turn << TURN_SHIFT) | tables)
      return { identify: (transaction) => this.identify(place, transaction), end: () => this.clear(place) }
    }
    if (this.crowd++ === 0) {
      add(words, this.count, 1)
      store(words, last + this.bounds, load(words, NEWEST))
      store(words, last, ALL_TABLES)
    } else this.lowerBound(last + this.bounds)
    return { identify: () => undefined, end: () => void (--this.crowd === 0 && this.clear(last)) }
  }

  /** Of a crowd: after an epoch transactions may be counted from further back. */
  private lowerBound(bound: number) {
    const { words } = this.region
    const newest = load(words, NEWEST)
    if (newest === 0 || ((newest - load(words, bound)) | 0) < 0) store(words, bound, newest)
  }

  private identify(place: number, transaction: number) {
    const { words } = this.region
    // First, so that a reader that finds the flag finds the transaction; without the flag it is a bound like others.
    store(words, place + this.bounds, (transaction - 1) | 0)
    Atomics.or(words, place, IDENTIFIED)
  }

  private clear(place: number) {
    clearFlag(this.region, place)
    sub(this.region.words, this.count, 1)
  }
}

/** Ends what is on its way in this place. */
export function clearFlag({ words }: Region, place: number): void {
  if (exchange(words, place, 0) < 0) sub(words, OVERDUE_COUNT, 1)
}

/** Sees which writes of all processes are on their way. */
export class FlagReader {
  private readonly places: Places

  constructor(private readonly region: Region) {
    this.places = layoutOf(region)
  }

  /** The writes on their way that may change rows of these tables. */
  now(tables: number): Mark[] {
    const { words } = this.region
    const { counts, marks, writers } = this.places
    let found: Mark[] = NONE
    for (let writer = 0; writer < writers; writer++) {
      if (load(words, counts + writer) === 0) continue
      const end = marks + (writer + 1) * FLAGS_MAX
      for (let place = end - FLAGS_MAX; place < end; place++) {
        const word = load(words, place)
        if ((word & tables) === 0) continue
        if (found === NONE) found = []
        found.push(this.markOf(place, word))
      }
    }
    return found
  }

  /** Whether a write on its way may change rows of both. */
  areTogether(tables: number, others: number): boolean {
    return this.now(tables).some(({ word }) => (word & others) !== 0)
  }

  /** Those of them that have not ended, as they are now. */
  still(marks: readonly Mark[]): Mark[] {
    const found: Mark[] = []
    for (const { place, word } of marks) {
      const now = load(this.region.words, place)
      if (isSameWrite(word, now)) found.push(this.markOf(place, now))
    }
    return found
  }

  /** Whether a write to one of these tables is overdue: then the cache of its lists is off. */
  isOverdue(tables: number): boolean {
    if (load(this.region.words, OVERDUE_COUNT) === 0) return false
    return this.now(tables).some(({ word }) => word < 0)
  }

  /**
   * From now on, and until they end, no process answers lists of their tables from memory. An answer from the database
   * that may show them can be sent then: no later one can be without them.
   */
  declareOverdue(marks: readonly Mark[]): void {
    const { words } = this.region
    for (const { place, word } of marks) {
      // Counted first, so that the flag is never there uncounted.
      add(words, OVERDUE_COUNT, 1)
      let now = load(words, place)
      while (isSameWrite(word, now) && now >= 0) {
        const before = swap(words, place, now, now | OVERDUE)
        if (before === now) break
        now = before
      }
      if (!isSameWrite(word, now) || now < 0) sub(words, OVERDUE_COUNT, 1)
    }
  }

  private markOf(place: number, word: number): Mark {
    const { marks, bounds } = this.places
    return { place, word, bound: load(this.region.words, place - marks + bounds) }
  }
}

const NONE: Mark[] = []

function isSameWrite(word: number, now: number): boolean {
  return now !== 0 && ((word ^ now) & ~FLAGS) === 0
}
