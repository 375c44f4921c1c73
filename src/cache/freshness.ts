import type { Change } from '../changes/change.ts'
import { type InFlightWrites, seenBy } from '../changes/settling.ts'
import type { Snapshot } from '../changes/snapshot.ts'
import type { ChangeSubscriber } from '../changes/subscriber.ts'
import type { LruCache } from '../model/lruCache.ts'
import type { CacheEntry } from './entries.ts'
import { type Selection, touches } from './selection.ts'

/** Says of what is kept whether it is still true, by the changes that were published since. */
export class Freshness {
  constructor(
    private readonly subscriber: ChangeSubscriber,
    private readonly inFlight: InFlightWrites,
  ) {}

  /** Another one once changes were lost: entries of an earlier one are worth nothing. */
  get generation(): number {
    return this.subscriber.generation
  }

  /** The number of the next change of the table. */
  next(table: string): number {
    return this.subscriber.next(table)
  }

  /**
   * Takes in what was published until now. False: lists of these tables must come from the database. Which is asked first:
   * an overdue write is published before it stops being so, and changes that reach no log move the epoch.
   */
  catchUp(tableMask: number): boolean {
    const isOff = this.inFlight.isOverdue(tableMask) || this.subscriber.isWithheld(tableMask)
    this.subscriber.catchUp()
    return !isOff && this.subscriber.isLive
  }

  isCurrent(generation: number): boolean {
    return this.subscriber.isLive && generation === this.subscriber.generation
  }

  /** The entry under `key`; null: there is none that may be used. Drops one from before changes were lost. */
  current<Entry extends CacheEntry>(entries: LruCache<Entry>, key: string): Entry | null {
    const entry = entries.get(key)
    if (entry === undefined) return null
    if (!this.catchUp(entry.selection.tableMask)) return null
    if (this.isCurrent(entry.generation)) return entry
    entries.delete(key)
    return null
  }

  /**
   * Whether no change that its snapshot does not see has touched the entry's selection; nor a foreign one, which it may have
   * seen before that was published, so that the total beside its rows is without it. Takes only what was published
   * before the look at the in-flight writes: a change that does not touch may be of a row that has left the selection by a
   * write that is not published yet. What came later is for the next call.
   */
  isUntouched(entry: CacheEntry): boolean {
    const { selection, snapshot, next } = entry
    const upTo = this.subscriber.next(selection.table)
    if (next === upTo) return true
    if (!this.inFlight.isEmpty(selection.tableMask)) return false
    this.subscriber.catchUp()
    const changes = this.since(entry)
    if (changes === null) return false
    for (const change of changes)
      if ((change.isForeign || !snapshot?.sees(change.transaction)) && touches(selection, change)) return false
    entry.next = upTo
    return true
  }

  /**
   * Whether the rows of a snapshot, with all changes of the table before number `next`, are a state of the database, as of now, and
   * all of it is published: nothing of the table was published since, of every transaction all rows are among them, and writes of
   * it in flight were sent behind all that was published, and are not in the snapshot. In this order: what ended before the look
   * at the writes in flight is published.
   */
  isState({ table, tableMask }: Selection, generation: number, next: number, snapshot: Snapshot): boolean {
    const areBehind = this.inFlight.look(tableMask, seenBy(snapshot))
    if (!this.catchUp(tableMask) || !this.isCurrent(generation)) return false
    return this.subscriber.next(table) === next && this.subscriber.isWhole && areBehind()
  }

  /** Whether `isState` may be true once what is published was taken in, as far as the writes of these tables in flight tell. */
  mayBeState(tableMask: number): boolean {
    return this.subscriber.isWhole && this.inFlight.areBehindLog(tableMask)
  }

  /** The changes of the entry's table since its `next`; null: they are not all known. */
  since({ selection, generation, next }: Pick<CacheEntry, 'selection' | 'generation' | 'next'>) {
    return this.isCurrent(generation) ? this.subscriber.since(selection.table, next) : null
  }

  /** The changes that the entry has to take in, which are noted as taken; null: they are not all known. */
  take(entry: CacheEntry & { readonly snapshot: Snapshot }): readonly Change[] | null {
    const changes = this.subscriber.since(entry.selection.table, entry.next)
    if (changes === null) return null
    entry.next += changes.length
    return unseenBy(entry.snapshot, changes)
  }
}

export function unseenBy(snapshot: Snapshot, changes: readonly Change[]): readonly Change[] {
  return changes.length === 0 ? changes : changes.filter(({ transaction }) => !snapshot.sees(transaction))
}
