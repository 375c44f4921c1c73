import { type Change, changeOf, type FollowedRecord, isFollowed, type LogRecord, RESET } from './change.ts'
import type { ChangeLogReader } from './log.ts'

/** The last transactions that were published, so many are remembered; a power of two. */
const PUBLISHED_MAX = 4_096
/** Of those whose cascades were published: renames, which are rare. */
const FOLLOWED_MAX = 256

/** An estimate: what a change takes in memory for each unit of its text. */
const BYTES_OF_UNIT = 4

/** The changes of one table, numbered; those before `first` are forgotten. */
interface Kept {
  first: number
  changes: (Change | typeof RESET)[]
  /** The size of each change, and of all. */
  bytes: number[]
  allBytes: number
}

/** What all processes of this machine have written, in numbered changes of each table. */
export class ChangeSubscriber {
  private tables = new Map<string, Kept>()
  /** The transactions that were published last, modulo 2^32, each in the place of its lowest bits; 0: none. */
  private readonly published = new Int32Array(PUBLISHED_MAX)
  private readonly followed = new Int32Array(FOLLOWED_MAX)
  /** Transactions of others, modulo 2^32, of which some rows are taken in, and others not yet. */
  private readonly partly = new Set<number>()
  /** Another once changes were lost: what was known before is worth nothing. */
  generation = 0
  /** As of the last `catchUp`. False: the lease has run out, or an outcome is unknown, so the cache is off. */
  isLive = false
  /** Called before changes of the table are forgotten: what follows them can still take them in. */
  onForget: ((table: string) => void) | null = null

  /** `bytesMax`: the size of the changes retained for one table. An entry that has fallen behind the oldest is dropped. */
  constructor(
    private readonly reader: ChangeLogReader,
    private readonly bytesMax: number,
  ) {}

  /** Whether rows of one of these tables may change without notice, so that its lists must come from the database. */
  isWithheld(tables: number): boolean {
    return this.reader.isWithheld(tables)
  }

  /**
   * Takes in all that was published until now. Whether that may be relied on is read first: an unknown outcome moves the
   * epoch and only then stops counting, so in the other order both could look as if nothing had happened.
   */
  catchUp(): void {
    this.isLive = this.reader.isLive
    this.keepUp()
  }

  /** The same without a need of it: so that a process that is asked for no lists does not fall a ring behind. */
  keepUp(): void {
    if (this.reader.read(this.take)) return
    this.tables = new Map()
    this.published.fill(0)
    this.followed.fill(0)
    this.partly.clear()
    this.generation++
  }

  /**
   * Whether all that the transaction of this number, modulo 2^32, has written is taken in; of one of this machine, what was
   * answered. False: it is not known.
   */
  hasPublished(transaction: number): boolean {
    return this.published[transaction & (PUBLISHED_MAX - 1)] === (transaction | 0)
  }

  /** Whether what the transaction has changed beside the rows that its statement returned is taken in. */
  hasFollowed(transaction: number): boolean {
    return this.followed[transaction & (FOLLOWED_MAX - 1)] === (transaction | 0)
  }

  /** Whether of every transaction that others have written all rows are taken in, or none. Those of this machine have flags. */
  get isWhole(): boolean {
    return this.partly.size === 0
  }

  /** The number of the next change of the table. */
  next(table: string): number {
    const kept = this.tables.get(table)
    return kept ? kept.first + kept.changes.length : 0
  }

  /** The changes from number `from` on; null: some of them are forgotten, or there was a reset among them. */
  since(table: string, from: number): readonly Change[] | null {
    const kept = this.tables.get(table)
    if (!kept || from === kept.first + kept.changes.length) return NONE
    if (from < kept.first) return null
    const changes = kept.changes.slice(from - kept.first)
    return changes.includes(RESET) ? null : (changes as Change[])
  }

  private readonly take = (text: string) => {
    const record = JSON.parse(text) as LogRecord
    const [table, , signed = 0] = record
    if (isFollowed(record)) return this.noteFollowed(record)
    let kept = this.tables.get(table)
    if (!kept) this.tables.set(table, (kept = { first: 0, changes: [], bytes: [], allBytes: 0 }))
    const change = changeOf(record, this.reader.epoch)
    if (change !== RESET && signed > 0) this.notePublished(signed)
    if (change !== RESET && change.isForeign) this.notePart(signed)
    const bytes = BYTES_OF_UNIT * text.length
    kept.changes.push(change)
    kept.bytes.push(bytes)
    kept.allBytes += bytes
    if (kept.allBytes <= this.bytesMax) return
    this.onForget?.(table)
    forgetHalf(kept)
  }

  private notePart(signed: number) {
    if (signed < 0) this.partly.add(-signed | 0)
    else this.partly.delete(signed | 0)
  }

  private noteFollowed([, epoch, transaction, isWhole]: FollowedRecord) {
    this.followed[transaction & (FOLLOWED_MAX - 1)] = transaction | 0
    this.partly.delete(transaction | 0)
    if (isWhole && epoch === this.reader.epoch) this.notePublished(transaction)
  }

  private notePublished(transaction: number) {
    this.published[transaction & (PUBLISHED_MAX - 1)] = transaction | 0
  }
}

const NONE: readonly Change[] = []

function forgetHalf(kept: Kept) {
  let forgotten = 0
  const half = kept.allBytes / 2
  while (kept.allBytes > half) kept.allBytes -= kept.bytes[forgotten++] as number
  kept.changes.splice(0, forgotten)
  kept.bytes.splice(0, forgotten)
  kept.first += forgotten
}
