import type { Row } from '../model/sql.ts'
import type { Region } from '../os/region.ts'
import { noteTransaction } from './inFlight.ts'
import { bumpEpoch, type ChangeLogReader, type ChangeLogWriter, epochOf } from './log.ts'

/** One row that was written: null where it was not there before, or is not any more. */
export interface Change {
  /** Of the transaction that wrote it, counted from the cluster's beginning. */
  readonly transaction: number
  readonly before: Row | null
  readonly after: Row | null
}

/** Rows of the table have changed, and nobody knows which. */
const RESET = null

/** So many transactions later it is not known any more that one was published; a power of two. */
const PUBLISHED_MAX = 4_096

/** Of a change in memory for each unit of its text, roughly. */
const BYTES_OF_UNIT = 4

/**
 * What the log has of a change: of a row that was there before and after, places and values of what differs. The
 * transaction is negative where more rows of it follow.
 */
type Told = [table: string] | [table: string, epoch: number, transaction: number, ...Rows]
type Rows = [before: Row | null, differences: Differences | null, after?: Row | null]
type Differences = (number | string | null)[]

/**
 * Tells the processes of this machine what this one has written.
 *
 * **A record has the epoch of the log from when its write was sent.** A process may sleep between the answer of PostgreSQL
 * and its record, and meanwhile a standby may take over that never got the transaction, or a crash undo it, where commits
 * do not wait for the disk. The listener has lost its connection with that, and raised the epoch when it began to hear
 * anew; what is known since then was counted there, where the transaction never was, and its number may be another's. So
 * a reader counts no row of a record whose epoch is not the one that it reads in. Nor can it drop the record: the epoch is
 * raised for other reasons too, and then the write may have been done after a count of the new epoch. It takes the record
 * for a change of rows that nobody names, and all that is known of the table is learnt anew: right in either case.
 *
 * With the same epoch nothing lies between the sending and the reader's knowledge that could undo the write: what comes
 * later raises the epoch, and the reader forgets. (A machine whose listener and whose workers are connected to two
 * servers, both of which take writes, is beyond this.)
 */
export class ChangePublisher {
  constructor(
    private readonly writer: ChangeLogWriter,
    private readonly region: Region,
  ) {}

  /** To be noted when a write is sent. */
  get epoch(): number {
    return epochOf(this.region)
  }

  /**
   * After the commit, and before its client is answered: from then on every list shows it. `epoch`: when it was sent.
   * `isLast`: no other row of its transaction follows.
   */
  tell(table: string, { transaction, before, after }: Change, epoch: number = this.epoch, isLast = true): void {
    const isUpdate = before !== null && after !== null
    const signed = isLast ? transaction : -transaction
    this.append(
      isUpdate
        ? [table, epoch, signed, before, differences(before, after)]
        : [table, epoch, signed, before, null, after],
    )
    if (epoch === this.epoch) noteTransaction(this.region, transaction)
  }

  /** For rows that a cascade has changed, and writes of which nobody knows what came of them. */
  publishReset(table: string): void {
    this.append([table])
  }

  private append(record: readonly unknown[]) {
    if (!this.writer.append(JSON.stringify(record))) bumpEpoch(this.region)
  }
}

/** The changes of one table, numbered; those before `first` are forgotten. */
interface Kept {
  first: number
  changes: (Change | typeof RESET)[]
  /** Of each change, and of all. */
  bytes: number[]
  allBytes: number
}

/** What all processes of this machine have written, in numbered changes of each table. */
export class ChangeSubscriber {
  private tables = new Map<string, Kept>()
  /** The transactions that were published last, modulo 2^32, each in the place of its lowest bits; 0: none. */
  private readonly published = new Int32Array(PUBLISHED_MAX)
  /** Another once changes were lost: what was known before is worth nothing. */
  generation = 0
  /** As of the last `catchUp`. False: writes from elsewhere are not heard of, so that the cache is off. */
  isHearing = false

  /** `bytesMax`: of the changes that are kept of one table, for who has not looked for a while. */
  constructor(
    private readonly reader: ChangeLogReader,
    private readonly bytesMax: number,
  ) {}

  /** Whether others change one of these tables unheard, so that its lists come from the database. */
  isWithheld(tables: number): boolean {
    return this.reader.isWithheld(tables)
  }

  /**
   * Takes in all that was published until now. Whether that may be relied on is read first: an unknown outcome moves the
   * epoch and only then stops counting, so in the other order both could look as if nothing had happened.
   */
  catchUp(): void {
    this.isHearing = this.reader.isHearing
    if (this.reader.read(this.take)) return
    this.tables = new Map()
    this.published.fill(0)
    this.generation++
  }

  /** Whether all that the transaction of this number, modulo 2^32, has written is taken in. False: it is not known. */
  hasPublished(transaction: number): boolean {
    return this.published[transaction & (PUBLISHED_MAX - 1)] === (transaction | 0)
  }

  /** The number of the next change of the table. */
  next(table: string): number {
    const kept = this.tables.get(table)
    return kept ? kept.first + kept.changes.length : 0
  }

  /** The changes from number `from` on; null: some of them are forgotten, or nobody knows which they were. */
  since(table: string, from: number): readonly Change[] | null {
    const kept = this.tables.get(table)
    if (!kept || from === kept.first + kept.changes.length) return NONE
    if (from < kept.first) return null
    const changes = kept.changes.slice(from - kept.first)
    return changes.includes(RESET) ? null : (changes as Change[])
  }

  private readonly take = (text: string) => {
    const [table, ...rest] = JSON.parse(text) as Told
    let kept = this.tables.get(table)
    if (!kept) this.tables.set(table, (kept = { first: 0, changes: [], bytes: [], allBytes: 0 }))
    const [epoch, signed = 0, before = null, changed = null, after = null] = rest
    const isOfNow = epoch === this.reader.epoch
    const change = isOfNow ? changeOf(Math.abs(signed), before, changed, after) : RESET
    if (isOfNow && signed > 0) this.publish(signed)
    const bytes = BYTES_OF_UNIT * text.length
    kept.changes.push(change)
    kept.bytes.push(bytes)
    kept.allBytes += bytes
    if (kept.allBytes > this.bytesMax) forgetHalf(kept)
  }

  private publish(transaction: number) {
    this.published[transaction & (PUBLISHED_MAX - 1)] = transaction | 0
  }
}

const NONE: readonly Change[] = []

function differences(before: Row, after: Row): Differences {
  const found: Differences = []
  for (let place = 0; place < after.length; place++)
    if (after[place] !== before[place]) found.push(place, after[place] as string | null)
  return found
}

function changeOf(transaction: number, before: Row | null, changed: Differences | null, after: Row | null): Change {
  if (before === null || changed === null) return { transaction, before, after }
  const row = [...before]
  for (let index = 0; index < changed.length; index += 2)
    row[changed[index] as number] = changed[index + 1] as string | null
  return { transaction, before, after: row }
}

function forgetHalf(kept: Kept) {
  let forgotten = 0
  const half = kept.allBytes / 2
  while (kept.allBytes > half) kept.allBytes -= kept.bytes[forgotten++] as number
  kept.changes.splice(0, forgotten)
  kept.bytes.splice(0, forgotten)
  kept.first += forgotten
}
