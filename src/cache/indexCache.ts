import { Snapshot } from '../changes/snapshot.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Position } from '../model/order.ts'
import type { Baseline, IndexEntry, KnownAnchor, TotalAtSnapshot } from './entries.ts'
import { type Freshness, unseenBy } from './freshness.ts'
import { PositionIndex, shiftOf } from './positionIndex.ts'
import type { Ordering, Selection } from './selection.ts'

/** Estimates, in bytes: an anchor beside its texts; a count of requests with its key. */
const ANCHOR_BYTES = 64
const COUNT_BYTES = 600
/** An index is built for the second page that needs it; where the last one was lost too soon, for one so many pages later. */
const ASKED_BEFORE = 2
const ASKED_AFTER_DROP = 48
const SERVED_MIN = 50

/** The position indexes of this process, by selection and order. */
export class IndexCache {
  private readonly entries: LruCache<IndexEntry>
  /** How often pages were asked for that would need an index. */
  private readonly wanted: LruCache<number>
  /** How many anchors one index may have. */
  readonly anchorsMax: number

  constructor(
    private readonly freshness: Freshness,
    bytesMax: number,
  ) {
    this.entries = new LruCache(bytesMax / 4, ({ bytes }, key) => bytes + 2 * key.length)
    this.wanted = new LruCache(bytesMax / 32, (_, key) => COUNT_BYTES + 2 * key.length)
    this.anchorsMax = bytesMax / 8 / (3 * ANCHOR_BYTES)
  }

  /** The last anchor with at most `rows` rows up to it, as of the baseline; null: none is known. */
  anchorBefore({ selection, generation, next }: Baseline, ordering: Ordering, rows: number): KnownAnchor | null {
    const key = indexKey(selection, ordering)
    const entry = this.entries.get(key)
    // As of the baseline: what was taken in since would count once here, and once in what the answer saw.
    const isOfNow = generation === this.freshness.generation && next === this.freshness.next(selection.table)
    if (entry === undefined || !isOfNow) return null
    const changes = entry.generation === generation ? this.freshness.take(entry) : null
    if (changes !== null && entry.index.take(changes)) {
      entry.served++
      const anchor = entry.index.before(rows)
      return anchor && { ...anchor, snapshot: entry.snapshot }
    }
    this.entries.delete(key)
    this.wanted.set(key, entry.served < SERVED_MIN ? -ASKED_AFTER_DROP : 0)
    return null
  }

  /** Counts a page that needs an index. True once: for the page that is worth building it. */
  isWorthwhile({ selection }: Baseline, ordering: Ordering): boolean {
    const key = indexKey(selection, ordering)
    const times = (this.wanted.get(key) ?? 0) + 1
    this.wanted.set(key, times)
    return times === ASKED_BEFORE
  }

  /** Keeps anchors, one in `step` rows, that were read after the baseline; null: the read failed. False: there is no index. */
  learn(
    { selection, generation, next }: Baseline,
    ordering: Ordering,
    anchors: { positions: readonly Position[]; step: number; snapshot: string } | null,
  ): boolean {
    const key = indexKey(selection, ordering)
    this.wanted.set(key, -ASKED_AFTER_DROP)
    if (anchors === null || anchors.positions.length === 0) return false
    const { positions, step } = anchors
    const snapshot = new Snapshot(anchors.snapshot)
    const bytes = positions.reduce((sum, values) => sum + ANCHOR_BYTES + 2 * values.join().length, 0)
    const index = new PositionIndex(selection, ordering, positions, step)
    return this.entries.set(key, { selection, generation, next, snapshot, index, bytes, served: 0 })
  }
}

/** Whether as many rows lie up to the anchor under the page's snapshot as were counted. */
export function isUnshifted(
  { selection }: Baseline,
  ordering: Ordering,
  { position, snapshot }: KnownAnchor,
  { seen }: TotalAtSnapshot,
): boolean {
  return shiftOf(selection, ordering, position, unseenBy(snapshot, seen)) === 0
}

/** Two indexes of different rows or orders have different keys. */
export function indexKey({ key }: Selection, ordering: Ordering): string {
  return `${key} by ${ordering.key}`
}
