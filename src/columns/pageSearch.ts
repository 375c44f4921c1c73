// Finds one page among the matches of a list: by a walk along an index, by checkpoints, or by sorting if few rows match.

import type { Rows, Slice } from './bitmapWriter.ts'
import type { IndexPosition } from './checkpoints.ts'
import { AFTER_IDS, BEFORE_IDS, type Target } from './columnOrder.ts'
import type { ColumnStore } from './columnStore.ts'
import type { Indexes } from './indexes.ts'
import { compareTo, isOneIndex, type PageKey, sortedPage } from './pageKeys.ts'
import type { SortedIndex } from './sortedIndex.ts'

/** Maximum number of matches that are gathered and sorted. With more matches, an index is walked. */
export const GATHERED_MAX = 2_048
/** Maximum number of rows of an index that a walk reads. If the walk needs more rows, checkpoints are used. */
const WALKED_MAX = 16_384
/** Maximum number of checkpoints that are chosen by interpolation. Further checkpoints are chosen by bisection. */
const GUESSES_MAX = 3
/** Bytes of the buffer of gathered slots. The last step of gathering may add up to 63 slots more than `GATHERED_MAX`. */
export const GATHERED_BYTES = 4 * (GATHERED_MAX + 64)

/** Method by which a page was found. */
export type Way = 'index' | 'walk' | 'checkpoints' | 'gathered'

/** Rows `[from, end)` of a list, by their row numbers. */
export interface Range {
  readonly from: number
  readonly end: number
}

/** The matches of a list in the order of an index. Counts the matches before a checkpoint at most once per page. */
class Matches {
  private readonly before = new Map<number, number>()

  constructor(
    private readonly store: ColumnStore,
    readonly index: SortedIndex,
    readonly rows: Rows,
  ) {}

  /** Returns the number of matches before a checkpoint, or before the end of the index. `number`: as for `positionOf`. */
  beforeCheckpoint(number: number): number {
    const { checkpoints } = this.index
    if (number < 0) return 0
    if (number >= checkpoints.all.length) return this.rows.count
    const count = () => this.store.kernel.wasm.countBoth(this.rows.bits, checkpoints.bitsOf(number), this.store.bitmapBytes)
    return this.before.getOrInsertComputed(number, count)
  }

  /** Returns the number of matches before a target. `position`: the target's position in the index. */
  beforePosition(target: Target, position: IndexPosition): number {
    const { checkpoints } = this.index
    const next = checkpoints.nextAfter(target)
    return this.beforeCheckpoint(next - 1) + this.between(checkpoints.positionOf(next - 1), position)
  }

  between(from: IndexPosition, to: IndexPosition): number {
    let count = 0
    this.index.eachRun(from, to, (address, slots) => {
      count += this.store.kernel.wasm.countOf(address, slots, this.rows.bits)
    })
    return count
  }

  /** Returns a position before the match with this number, and the number of matches between the position and this match. */
  locate(number: number): { position: IndexPosition; skip: number } {
    const { index, rows, store } = this
    const next = this.checkpointAfter(number)
    let { leaf, at } = index.checkpoints.positionOf(next - 1)
    let skip = number - this.beforeCheckpoint(next - 1)
    for (; leaf < index.leaves.length - 1; leaf++, at = 0) {
      const { address, size } = index.leaves[leaf]
      const count = store.kernel.wasm.countOf(address + 4 * at, size - at, rows.bits)
      if (skip < count) break
      skip -= count
    }
    return { position: { leaf, at }, skip }
  }

  /** Returns the number of the first checkpoint that has more than `number` matches before it. */
  private checkpointAfter(number: number): number {
    let low = -1
    let high = this.index.checkpoints.all.length
    // Each count reads two whole bitmaps. If matches are evenly distributed, the first guesses are next to the right checkpoint.
    for (let guesses = GUESSES_MAX; high - low > 1; guesses--) {
      const span = this.beforeCheckpoint(high) - this.beforeCheckpoint(low)
      const guess = Math.floor(low + ((number - this.beforeCheckpoint(low)) / span) * (high - low))
      const middle = guesses > 0 ? Math.min(Math.max(guess, low + 1), high - 1) : (low + high) >> 1
      if (this.beforeCheckpoint(middle) <= number) low = middle
      else high = middle
    }
    return high
  }
}

/** Finds pages of one list in the bitmap of the list's matches. */
export class PageSearch {
  way: Way = 'gathered'

  /** `matchesBuffer`: address of a buffer of `GATHERED_BYTES` for slots. */
  constructor(
    private readonly store: ColumnStore,
    private readonly indexes: Indexes,
    private readonly keys: readonly PageKey[],
    private readonly matchesBuffer: number,
  ) {}

  /**
   * Returns the slots of a range of rows, in the order of the list. Returns null if an index is missing. `within`: a slice that
   * includes all these rows.
   */
  find(rows: Rows, range: Range, within: Slice | null = null): number[] | null {
    return this.findByKeys(this.keys, rows, range, within)
  }

  /**
   * Returns the slots next to a position, in the order of the list. There are `size` slots, or fewer at an end of the list.
   * Returns null if an index is missing.
   */
  findNextTo(rows: Rows, side: 'after' | 'before', targets: readonly Target[], size: number): number[] | null {
    if (rows.count > GATHERED_MAX && isOneIndex(this.keys)) {
      const index = this.indexOf(this.keys[0])
      const found = index && this.walkFrom(index, rows, side, targets[0], size)
      if (found) return found
    }
    const count = this.countUpTo(this.keys, rows, targets, side === 'after')
    if (count === null) return null
    if (side === 'after') return this.find(rows, { from: count, end: Math.min(count + size, rows.count) })
    return this.find(rows, { from: Math.max(0, count - size), end: count })
  }

  private indexOf({ column, by }: PageKey): SortedIndex | null {
    return this.indexes.want(column, by)
  }

  private findByKeys(keys: readonly PageKey[], rows: Rows, { from, end }: Range, within: Slice | null): number[] | null {
    if (from >= end) return []
    if (rows.count <= GATHERED_MAX) {
      this.way = 'gathered'
      return sortedPage(this.gather(rows), keys, from, end)
    }
    const index = this.indexOf(keys[0])
    if (index === null) return null
    if (!isOneIndex(keys)) return this.findByGroups(keys, index, rows, { from, end })
    const { isDescending } = keys[0]
    // Row numbers of the page in the ascending order of the index.
    const first = isDescending ? rows.count - end : from
    const last = isDescending ? rows.count - from : end
    const found = this.alongIndex(new Matches(this.store, index, rows), first, last, within)
    return isDescending ? found.reverse() : found
  }

  /** Returns the slots of the matches `[first, end)`, in the order of the index. */
  private alongIndex(matches: Matches, first: number, end: number, within: Slice | null): number[] {
    const { index, rows } = matches
    const begin = within?.from.position ?? { leaf: 0, at: 0 }
    const size = within?.count ?? index.size
    if (rows.count === size) {
      this.way = 'index'
      const position = index.positionOf(index.count({ leaf: 0, at: 0 }, begin) + first)
      return this.walk(index, this.store.liveBits, position, true, 0, end - first).found
    }
    const isFromEnd = rows.count - end < first
    const skip = isFromEnd ? rows.count - end : first
    if (((skip + end - first) * size) / rows.count <= WALKED_MAX) {
      const position = isFromEnd ? (within?.to.position ?? index.end()) : begin
      const { found, isWhole } = this.walk(index, rows.bits, position, !isFromEnd, skip, end - first)
      this.way = 'walk'
      if (isWhole) return isFromEnd ? found.reverse() : found
    }
    this.way = 'checkpoints'
    const found: number[] = []
    while (found.length < end - first) {
      const { position, skip: before } = matches.locate(first + found.length)
      const wanted = end - first - found.length
      const { found: next } = this.walk(index, rows.bits, position, true, before, wanted)
      if (next.length === 0) throw new Error(`no match ${first + found.length} of ${rows.count} in the index`)
      for (const slot of next) found.push(slot)
    }
    return found
  }

  /**
   * Walks along an index from a position, skips some matches, and collects the next ones. If it has read `WALKED_MAX` rows and
   * needs more, it stops, and `isWhole` is false.
   */
  private walk(index: SortedIndex, bits: number, position: IndexPosition, isForward: boolean, skip: number, wanted: number) {
    const { words } = this.store.kernel
    const { leaves } = index
    const base = bits >>> 2
    const found: number[] = []
    let left = skip
    let passed = 0
    let { leaf, at } = position
    while (leaf >= 0 && leaf < leaves.length && found.length < wanted) {
      const { address, size } = leaves[leaf]
      const first = address >>> 2
      const end = isForward ? size - at : at
      for (let step = 0; step < end; step++) {
        const slot = words[first + (isForward ? at + step : at - 1 - step)]
        if (((words[base + (slot >> 5)] >>> (slot & 31)) & 1) === 0) continue
        if (left > 0) left--
        else if (found.push(slot) === wanted) break
      }
      passed += end
      if (passed > WALKED_MAX && found.length < wanted) return { found, isWhole: false }
      leaf += isForward ? 1 : -1
      at = isForward ? 0 : (leaves[leaf]?.size ?? 0)
    }
    return { found, isWhole: true }
  }

  /** Walks from a position. Returns null if the page is too far away. */
  private walkFrom(index: SortedIndex, rows: Rows, side: 'after' | 'before', target: Target, size: number): number[] | null {
    const isForward = (side === 'after') !== this.keys[0].isDescending
    // A walk forward begins after the row at the position, if that row still exists. A walk backward begins before it.
    const position = index.find(isForward ? { ...target, id: target.id + 1 } : target)
    this.way = 'walk'
    const { found, isWhole } = this.walk(index, rows.bits, position, isForward, 0, size)
    if (!isWhole) return null
    return side === 'after' ? found : found.reverse()
  }

  /**
   * Counts the rows before a position, and with `isWithRow` also the row at the position. Returns null if an index is missing.
   */
  private countUpTo(keys: readonly PageKey[], rows: Rows, targets: readonly Target[], isWithRow: boolean): number | null {
    if (rows.count <= GATHERED_MAX) {
      let count = 0
      for (const slot of this.gather(rows)) {
        const difference = compareTo(slot, keys, targets)
        if (difference < 0 || (isWithRow && difference === 0)) count++
      }
      return count
    }
    const index = this.indexOf(keys[0])
    if (index === null) return null
    const matches = new Matches(this.store, index, rows)
    const { isDescending } = keys[0]
    if (isOneIndex(keys)) {
      const target = { ...targets[0], id: targets[0].id + (isWithRow === isDescending ? 0 : 1) }
      const before = matches.beforePosition(target, index.find(target))
      return isDescending ? rows.count - before : before
    }
    const group = this.groupAt(matches, targets[0])
    const before = isDescending ? rows.count - group.before - group.count : group.before
    if (group.count === 0) return before
    const within = this.withGroup(rows, group, (own) => this.countUpTo(keys.slice(1), own, targets.slice(1), isWithRow))
    return within === null ? null : before + within
  }

  /**
   * Finds a page whose order no index has. Takes the rows of one value of the first key, then the rows of the next value, and so
   * on.
   */
  private findByGroups(keys: readonly PageKey[], index: SortedIndex, rows: Rows, { from, end }: Range): number[] | null {
    const { isDescending } = keys[0]
    const matches = new Matches(this.store, index, rows)
    const found: number[] = []
    while (from + found.length < end) {
      const number = from + found.length
      const ascending = isDescending ? rows.count - 1 - number : number
      const [slot] = this.alongIndex(matches, ascending, ascending + 1, null)
      const group = this.groupAt(matches, index.order.targetOf(slot))
      const first = isDescending ? rows.count - group.before - group.count : group.before
      const range = { from: number - first, end: Math.min(end - first, group.count) }
      const own =
        group.count > GATHERED_MAX
          ? this.withGroup(rows, group, (own) => this.findByKeys(keys.slice(1), own, range, null))
          : this.findInNeighbors(keys, matches, group, { from: number - first, end: end - first })
      if (own === null) return null
      if (own.length === 0) throw new Error(`no match ${number} of ${rows.count} among those of one value`)
      for (const one of own) found.push(one)
    }
    // The rows of each value were counted by checkpoints.
    this.way = 'checkpoints'
    return found
  }

  /** Returns the slice of an index that has the rows with one value. */
  private groupAt(matches: Matches, { high, low }: Target): Group {
    const { index } = matches
    const from = { high, low, id: BEFORE_IDS }
    const to = { high, low, id: AFTER_IDS }
    const bounds = { from: { target: from, position: index.find(from) }, to: { target: to, position: index.find(to) } }
    const before = matches.beforePosition(from, bounds.from.position)
    return { index, ...bounds, before, count: matches.beforePosition(to, bounds.to.position) - before }
  }

  /** Calls `use` with a bitmap of the matches that have one value. @throws KernelFull */
  private withGroup<Result>(rows: Rows, { index, from, to, count }: Group, use: (own: Rows) => Result): Result {
    const { store } = this
    const bits = store.reserveBitmap()
    try {
      index.checkpoints.writeBetween(from, to, bits)
      store.kernel.wasm.and(rows.bits, bits, bits, store.bitmapBytes)
      return use({ bits, count })
    } finally {
      store.freeBitmap(bits)
    }
  }

  /** Finds the rows of a range in a small group, and also in the next groups while these are small. */
  private findInNeighbors(keys: readonly PageKey[], { index, rows }: Matches, group: Group, { from, end }: Range): number[] {
    const { isDescending, order } = keys[0]
    const position = isDescending ? group.to.position : group.from.position
    const wanted = Math.max(group.count, Math.min(end + 1, GATHERED_MAX))
    const { found, isWhole } = this.walk(index, rows.bits, position, !isDescending, 0, wanted)
    const slots = found.length < group.count ? this.withGroup(rows, group, (own) => Array.from(this.gather(own))) : found
    // If the walk has ended early, some rows with the last value may be missing. So all rows with this value are left to the next
    // step. The group itself is complete.
    let whole = slots.length
    if (!isWhole || slots.length === wanted) {
      while (whole > group.count && order.isSameKey(slots[whole - 1], slots[slots.length - 1])) whole--
    }
    const own = Int32Array.from(slots.slice(0, whole))
    // If all rows have the same first value, only the other keys order them.
    return sortedPage(own, whole === group.count ? keys.slice(1) : keys, from, Math.min(end, whole))
  }

  /** Returns the slots of at most `GATHERED_MAX` matches. They are valid until the next call. */
  private gather({ bits }: Rows): Int32Array {
    const { kernel, bitmapBytes } = this.store
    const end = kernel.wasm.gather(bits, bitmapBytes, 0, this.matchesBuffer, GATHERED_MAX) >>> 0
    return kernel.words.subarray(this.matchesBuffer >>> 2, end >>> 2)
  }
}

/** A slice of the rows that have one value of the first key. */
interface Group extends Slice {
  /** Number of matches with lesser values. */
  readonly before: number
  /** Number of matches with this value. */
  readonly count: number
}
