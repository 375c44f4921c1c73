import { type InFlightWrites, seenBy } from '../changes/settling.ts'
import { Snapshot } from '../changes/snapshot.ts'
import type { ChangeSubscriber } from '../changes/subscriber.ts'
import type { ColumnStore } from '../columns/columnStore.ts'
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { ListQuery } from '../model/query.ts'
import { AskedBefore } from './askedBefore.ts'
import type { Baseline, PageEntry, TotalAtSnapshot, TotalEntry } from './entries.ts'
import { Freshness, unseenBy } from './freshness.ts'
import { NextState } from './nextState.ts'
import { type Selection, sumOf } from './selection.ts'

/** An estimate, in bytes: a total with its snapshot, its test and its key. */
const TOTAL_BYTES = 600

/**
 * What this process has kept of lists: totals of selections, and pages as they were sent.
 * docs/cache.md argues step by step that every answer is exact; in short:
 *
 * **Each change once.** Every process publishes each commit of its own before its client is answered, with the transaction
 * and the row before and after. `baseline` takes in the change log and notes its end before the database is asked; the
 * answer brings its snapshot. A commit published before that end is in the snapshot. Of every later one the snapshot says
 * whether the answer has it; those that it has not are added: +1 if the row matches after, -1 if it did before. Sums do
 * not depend on an order, and no commit is published twice.
 *
 * **One moment.** Rows come from the database, the total beside them may not. `totalAt` adds the changes since the baseline
 * that the page's snapshot sees. A commit that is not published yet would be missed, so writes that are in flight and that
 * the snapshot may see are waited for. A page by ids that columns gave is right if none of those changes touches the list.
 *
 * **Reads never go back.** Between its commit and its record in the log a write shows in what the database answers, and not
 * yet in what is kept. So every answer of the database waits in the same way (`readFence.ts`). A write that takes too long
 * is overdue: until it has ended, no process answers lists of its tables from its cache.
 *
 * **Pages** are dropped by any change that touches their selection and that their snapshot does not see; and, where another
 * change was published, while writes are in flight: one of these may have moved a row out of the selection, and the
 * published one have changed it afterwards.
 *
 * Every call first takes in what was published until now, so a client whose write was answered sees it in every list of
 * every process. What cannot be known is dropped: changes of rows without their images (cascades, other machines),
 * selections and orders that TypeScript cannot decide, and everything when records were lost or the lease has run out.
 * Writes from elsewhere set no flag: between their commit and their notification a page may show them, its total not yet.
 */
export class ListCache<T> {
  private readonly totals: LruCache<TotalEntry>
  private readonly pages: LruCache<PageEntry<T>>
  private readonly freshness: Freshness
  private readonly askedBefore = new AskedBefore()
  private readonly states: NextState

  constructor(
    subscriber: ChangeSubscriber,
    private readonly inFlight: InFlightWrites,
    bytesMax: number,
    /** Null: tables are not kept in columns. */
    private readonly columns: ColumnStore | null = null,
  ) {
    this.freshness = new Freshness(subscriber, inFlight)
    this.states = new NextState(this.freshness)
    this.totals = new LruCache(bytesMax / 8, (_, key) => TOTAL_BYTES + 2 * key.length)
    this.pages = new LruCache(0.75 * bytesMax, ({ bytes }, key) => bytes + 2 * key.length)
  }

  /** To be called before the database is asked. Null: the list must come from the database, and is not kept. */
  baseline(selection: Selection): Baseline | null {
    const { freshness } = this
    if (!freshness.catchUp(selection.tableMask)) return null
    const byColumns = this.countedByColumns(selection)
    if (byColumns !== null) return byColumns
    const { generation } = freshness
    const entry = freshness.current(this.totals, selection.key)
    const known = entry && this.count(entry) ? entry : null
    const next = freshness.next(selection.table)
    return { selection, generation, next, total: known?.total ?? null, counted: known?.snapshot ?? null, columns: null }
  }

  /** The total is not kept: it costs less to count again than those kept cost that it would push out. */
  private countedByColumns(selection: Selection): Baseline | null {
    const { generation } = this.freshness
    const next = this.freshness.next(selection.table)
    const columns = this.columns?.current(selection.entity) ?? null
    if (columns === null || !columns.isAsOf(generation, next)) return null
    const total = columns.count(selection.filters)
    return total === null ? null : { selection, generation, next, total, counted: columns.snapshot, columns }
  }

  /**
   * What a list has to wait for before its turn: what `ColumnStore.prepare` says, and a moment in which its rows can come from
   * columns; null: nothing. False: it has waited for those alone that have arrived with it. @throws ApiError 503
   */
  prepare(entity: Entity, query: ListQuery, tableMask: number): Promise<boolean> | null {
    const { columns, states } = this
    const nextState = (hasWaited: boolean) => {
      const state = columns?.has(entity) ? states.next(tableMask) : null
      return state === null ? hasWaited : state.then(() => true)
    }
    return columns?.prepare(entity, query)?.then(nextState) ?? null
  }

  /** What a list of this asker has to wait for right before its baseline; null: nothing. @throws ApiError 503 */
  turn(entity: Entity, asker: string): Promise<void> | null {
    return this.columns?.turn(entity, asker) ?? null
  }

  /** Whether the copy of the baseline's table is being refreshed since it was looked at: the list has that to wait for. */
  hasLostTrack({ selection, columns }: Baseline): boolean {
    return columns === null && (this.columns?.isRefreshing(selection.entity) ?? false)
  }

  /** Whether what columns say as of the baseline is a state of the database, as of now. */
  isState({ selection, generation, next, columns }: Baseline): boolean {
    if (columns === null || !columns.isAsOf(generation, next)) return false
    return this.freshness.isState(selection, generation, next, columns.snapshot)
  }

  /** Notes that the database has counted, or looked for, rows of the baseline's selection, which took so long. */
  noteCost({ selection }: Baseline, ms: number): void {
    this.columns?.noteCost(selection.entity, ms)
  }

  /** Keeps a total that was counted after the baseline, under the snapshot of this text. */
  learnTotal({ selection, generation, next }: Baseline, total: number, snapshot: string): void {
    this.totals.set(selection.key, { selection, generation, next, total, snapshot: new Snapshot(snapshot) })
  }

  /** The total under the snapshot of this text, which is of an answer that was asked for after the baseline; null: unknown. */
  async totalAt(baseline: Baseline, text: string): Promise<TotalAtSnapshot | null> {
    const { selection, total, counted } = baseline
    if (total === null || counted === null || this.inFlight.isOverdue(selection.tableMask)) return null
    const snapshot = new Snapshot(text)
    if (!(await this.inFlight.settled(selection.tableMask, seenBy(snapshot)))) return null
    this.freshness.catchUp(selection.tableMask)
    const changes = this.freshness.since(baseline)
    if (changes === null) return null
    const seen = changes.filter(({ transaction }) => snapshot.sees(transaction))
    const more = sumOf(selection, unseenBy(counted, seen))
    return more === null || total + more < 0 ? null : { snapshot, total: total + more, seen }
  }

  /** What was kept under `key`, if no row of its selection has changed since. */
  page(key: string): T | null {
    const entry = this.freshness.current(this.pages, key)
    if (!entry) return null
    if (this.freshness.isUntouched(entry)) return entry.content
    this.pages.delete(key)
    return null
  }

  /**
   * Keeps what was made from an answer with the snapshot of this text; null: it has none. What was found in columns costs little to
   * find again, and is kept from the second time on. `bytes`: its size, an estimate.
   */
  keepPage(
    key: string,
    { selection, generation, next, columns }: Baseline,
    text: string | null,
    content: T,
    bytes: number,
  ): void {
    if (text === null && columns !== null && !this.askedBefore.note(key)) return
    const snapshot = text === null ? null : new Snapshot(text)
    this.pages.set(key, { selection, generation, next, snapshot, content, bytes })
  }

  /** Whether an answer that was asked for after the baseline is as good as one that is asked for now. */
  isFresh({ selection, generation, next }: Baseline): boolean {
    const { freshness } = this
    if (!freshness.catchUp(selection.tableMask) || !freshness.isCurrent(generation)) return false
    return freshness.isUntouched({ selection, generation, next, snapshot: null })
  }

  /** Takes what was published since into the total; false: it cannot be known, and the entry is dropped. */
  private count(entry: TotalEntry): boolean {
    const changes = this.freshness.take(entry)
    const more = changes && sumOf(entry.selection, changes)
    // Below zero: another process has published a row's deletion before its creation. The next request counts again.
    if (more === null || entry.total + more < 0) {
      this.totals.delete(entry.selection.key)
      return false
    }
    entry.total += more
    return true
  }
}
