import type { Change, ChangeSubscriber } from '../changes/publishing.ts'
import { type InFlightWrites, seenBy } from '../changes/settling.ts'
import { Snapshot } from '../changes/snapshot.ts'
import type { Position } from '../model/order.ts'
import type { Known, Look, Noted, Page, Place, Sight, Total } from './entries.ts'
import { Positions, shiftOf } from './positionIndex.ts'
import { Recent } from './recent.ts'
import { type Ordering, type Selection, sumOf, touches } from './selection.ts'

/** Of a total, its snapshot, its test and its key, roughly; of a noted position, beside its texts. */
const TOTAL_BYTES = 600
const NOTE_BYTES = 64
/** Positions are read for the second page that wants them; where they were lost too soon, for one so many pages later. */
const ASKED_BEFORE = 2
const ASKED_AFTER_DROP = 48
const SERVED_MIN = 50

/**
 * What this process knows of lists: totals of selections, positions in orders of them, and pages as they were served.
 *
 * **Exactly once.** Every process tells the log of each commit of its own before its client is answered, with the
 * transaction and the row before and after. Before the database is asked, `look` takes in the log and notes its end; the
 * answer brings the snapshot that it was made under. A commit told before that end came before the question, so the
 * snapshot has it. Of every later one the snapshot itself says whether the answer has it; those that it has not change
 * what was learnt by what they do to the selection: +1 if the row matches after, -1 if it did before. Sums do not depend
 * on an order, so it does not matter in which order the processes tell, and nobody tells a commit twice.
 *
 * **One moment.** The rows of a page come from the database, the total beside them may not: `sight` makes it that of the
 * page's own snapshot. The changes told since the look that this snapshot has seen are added; for none to be missing,
 * writes that were on their way when the answer came, and that it may show, are waited for (each has a mark from before
 * it is sent until it is told). A page that was found from a noted position is right if none of those changes has moved
 * the position.
 *
 * **Reads never go back.** Between its commit and its record in the log a write shows in what the database answers, and
 * not yet in what comes from memory. So every answer of the database is held back in the same way (`readFence.ts`). A
 * write that takes too long is overdue: until it has ended, no process answers lists of its tables from memory.
 *
 * **Ready pages** are dropped by any change that touches their selection and that their snapshot has not seen; and where
 * others have been told, while writes are on their way: one of these may have moved a row out of the selection, and one of
 * those have changed it afterwards.
 *
 * Every question first takes in what was told until now. So whoever has been answered that a write is done sees it in
 * every list, of every process. What cannot be known is dropped: changes of rows nobody names (cascades, other machines),
 * selections and orders that TypeScript cannot tell, and all there is when changes were lost, or may not be heard of.
 * Writes from elsewhere have no marks: in the moment between their commit and their notification a page may have seen them,
 * and what is known of its list not yet.
 */
export class ListCache<T> {
  private readonly totals: Recent<Total>
  private readonly notes: Recent<Noted>
  private readonly pages: Recent<Page<T>>
  /** Pages that would need notes: how often they were asked for. */
  private readonly wanted: Recent<number>

  constructor(
    private readonly follower: ChangeSubscriber,
    private readonly onTheirWay: InFlightWrites,
    private readonly bytesMax: number,
  ) {
    this.totals = new Recent(bytesMax / 8, (_, key) => TOTAL_BYTES + 2 * key.length)
    this.notes = new Recent(bytesMax / 4, ({ bytes }, key) => bytes + 2 * key.length)
    this.pages = new Recent(bytesMax / 2, ({ bytes }, key) => bytes + 2 * key.length)
    this.wanted = new Recent(bytesMax / 32, (_, key) => TOTAL_BYTES + 2 * key.length)
  }

  /** To be called before the database is asked. Null: nothing can be told from memory, nor kept. */
  look(selection: Selection): Look | null {
    const { follower } = this
    if (!this.catchUp(selection.tables)) return null
    const { generation } = follower
    const known = this.current(this.totals, selection.key)
    const total = known && this.count(known) ? known : null
    const next = follower.next(selection.table)
    return { selection, generation, next, total: total?.total ?? null, counted: total?.snapshot ?? null }
  }

  /** Notes a total that was counted after the look, under the snapshot of this text. */
  learnTotal({ selection, generation, next }: Look, total: number, snapshot: string): void {
    this.totals.set(selection.key, { selection, generation, next, total, snapshot: new Snapshot(snapshot) })
  }

  /** What an answer with the snapshot of this text has seen, that was asked for after the look; null: it cannot be told. */
  async sight(look: Look, text: string): Promise<Sight | null> {
    const { selection, generation, next, total, counted } = look
    if (total === null || counted === null || this.onTheirWay.isOverdue(selection.tables)) return null
    const snapshot = new Snapshot(text)
    if (!(await this.onTheirWay.settled(selection.tables, seenBy(snapshot)))) return null
    this.follower.catchUp()
    const changes = this.isCurrent(generation) ? this.follower.since(selection.table, next) : null
    if (changes === null) return null
    const seen = changes.filter(({ transaction }) => snapshot.sees(transaction))
    const more = sumOf(selection, unseenBy(counted, seen))
    return more === null || total + more < 0 ? null : { snapshot, total: total + more, seen }
  }

  /** The last noted position with at most `rows` rows up to it, as of the look; null: none is known. */
  anchorBefore({ selection, generation, next }: Look, ordering: Ordering, rows: number): Place | null {
    const key = indexKey(selection, ordering)
    const known = this.notes.get(key)
    // The place has to be as of the look: what was taken in since would count once here, and once in what the answer saw.
    const isOfNow = generation === this.follower.generation && next === this.follower.next(selection.table)
    if (known === undefined || !isOfNow) return null
    const changes = known.generation === generation ? this.newTo(known) : null
    if (changes !== null && known.positions.take(changes)) {
      known.served++
      const note = known.positions.before(rows)
      return note && { ...note, snapshot: known.snapshot }
    }
    this.notes.delete(key)
    this.wanted.set(key, known.served < SERVED_MIN ? -ASKED_AFTER_DROP : 0)
    return null
  }

  /** How many positions of one order there is room for. */
  get anchorsMax(): number {
    return this.bytesMax / 8 / (3 * NOTE_BYTES)
  }

  /** Whether it is time to learn positions: this is not the first page that would need them, nor are they asked for. */
  isIndexWorthwhile({ selection }: Look, ordering: Ordering): boolean {
    const key = indexKey(selection, ordering)
    const times = (this.wanted.get(key) ?? 0) + 1
    this.wanted.set(key, times)
    return times === ASKED_BEFORE
  }

  /** Notes positions, one in `step` rows, that were read after the look; null: in vain. False: there is no use in it. */
  learnIndex(
    { selection, generation, next }: Look,
    ordering: Ordering,
    noted: { positions: readonly Position[]; step: number; snapshot: string } | null,
  ): boolean {
    const key = indexKey(selection, ordering)
    this.wanted.set(key, -ASKED_AFTER_DROP)
    if (noted === null || noted.positions.length === 0) return false
    const { positions, step } = noted
    const snapshot = new Snapshot(noted.snapshot)
    const bytes = positions.reduce((sum, values) => sum + NOTE_BYTES + 2 * values.join().length, 0)
    const learnt = new Positions(selection, ordering, positions, step)
    return this.notes.set(key, { selection, generation, next, snapshot, positions: learnt, bytes, served: 0 })
  }

  /** Whether rows found from this position, by counting, are still those that were counted. */
  isUnshifted({ selection }: Look, ordering: Ordering, { position, snapshot }: Place, { seen }: Sight): boolean {
    return shiftOf(selection, ordering, position, unseenBy(snapshot, seen)) === 0
  }

  /** What was kept under `key`, if no row of its selection has changed since. */
  page(key: string): T | null {
    const known = this.current(this.pages, key)
    if (!known) return null
    if (this.isUntouched(known)) return known.content
    this.pages.delete(key)
    return null
  }

  /** Keeps what was made from an answer with the snapshot of this text. `bytes`: its size, roughly. */
  keepPage(key: string, { selection, generation, next }: Look, text: string | null, content: T, bytes: number): void {
    const snapshot = text === null ? null : new Snapshot(text)
    this.pages.set(key, { selection, generation, next, snapshot, content, bytes })
  }

  /** Whether an answer that was asked for after the look is as good as one that is asked for now. */
  isFresh({ selection, generation, next }: Look): boolean {
    const isOn = this.catchUp(selection.tables)
    return isOn && this.isCurrent(generation) && this.isUntouched({ selection, generation, next, snapshot: null })
  }

  /**
   * Takes in what was published until now. False: lists of these tables may not be answered from memory. Which is asked
   * first: a write that is overdue is published before it stops being so, and what others change unheard moves the epoch.
   */
  private catchUp(tables: number): boolean {
    const isOff = this.onTheirWay.isOverdue(tables) || this.follower.isWithheld(tables)
    this.follower.catchUp()
    return !isOff && this.follower.isHearing
  }

  /** What is known under `key`, unless it is worth nothing any more. */
  private current<K extends Known>(all: Recent<K>, key: string): K | null {
    const known = all.get(key)
    if (known === undefined) return null
    if (!this.catchUp(known.selection.tables)) return null
    if (this.isCurrent(known.generation)) return known
    all.delete(key)
    return null
  }

  private isCurrent(generation: number): boolean {
    return this.follower.isHearing && generation === this.follower.generation
  }

  /**
   * Takes only what was published before the look at the in-flight writes: a change that does not touch may be of a row
   * that has left the selection by a write that is not published yet. Of what came later the next call decides.
   */
  private isUntouched(known: Known): boolean {
    const { selection, snapshot, next, generation } = known
    const upTo = this.follower.next(selection.table)
    if (next === upTo) return true
    if (!this.onTheirWay.isNone(selection.tables)) return false
    this.follower.catchUp()
    const changes = this.isCurrent(generation) ? this.follower.since(selection.table, next) : null
    if (changes === null) return false
    for (const change of changes) if (!snapshot?.sees(change.transaction) && touches(selection, change)) return false
    known.next = upTo
    return true
  }

  /** Takes what has happened since into the total; false: it cannot be known, and is forgotten. */
  private count(known: Total): boolean {
    const changes = this.newTo(known)
    const more = changes && sumOf(known.selection, changes)
    // Less than none: a row of somebody else's is gone, or changed, before anybody has told that it was there.
    if (more === null || known.total + more < 0) {
      this.totals.delete(known.selection.key)
      return false
    }
    known.total += more
    return true
  }

  /** The changes that are new to what is known, which has to take them; null: nobody knows them all. */
  private newTo(known: Known & { readonly snapshot: Snapshot }): readonly Change[] | null {
    const { selection, snapshot, next } = known
    const changes = this.follower.since(selection.table, next)
    if (changes === null) return null
    known.next = next + changes.length
    return unseenBy(snapshot, changes)
  }
}

function unseenBy(snapshot: Snapshot, changes: readonly Change[]): readonly Change[] {
  return changes.length === 0 ? changes : changes.filter(({ transaction }) => !snapshot.sees(transaction))
}

/** What positions in an order of a selection go by. */
export function indexKey({ key }: Selection, ordering: Ordering): string {
  return `${key} by ${ordering.key}`
}
