// Sorted index of a property: the slots of all rows in the order of code and id, in leaves as a B-tree has them.
import { Checkpoints, type IndexPosition } from './checkpoints.ts'
import type { ColumnOrder, Target } from './columnOrder.ts'
import { LeafEnds } from './leafEnds.ts'

/** Maximum number of slots of a leaf. An insertion moves half of these slots on average: 4 KB. */
export const LEAF_SLOTS = 2_048
const LEAF_BYTES = 4 * LEAF_SLOTS
/** Maximum number of slots that are read one by one to find the end of the slots with the same key. */
const SCANNED_MAX = 16
/** Number of slots that a newly built leaf gets. The rest of the leaf is room for later rows. */
const FILL = Math.floor(0.75 * LEAF_SLOTS)

/** End of a leaf that has no rows yet. */
const AT_START: Target = { high: 0, low: 0, id: 0 }

/** Slots at an address that are consecutive in the order of the index. */
export interface Leaf {
  readonly address: number
  size: number
}

/**
 * Slots in the order of a column, in leaves. Rows without a value come last. The caller must remove a row before its code
 * changes, and insert it afterwards. The row must have its id both times.
 */
export class SortedIndex {
  readonly leaves: Leaf[] = []
  /** Number of rows in the index. */
  size = 0
  /** Time at which a list last used the index. */
  lastUsedMs = 0
  readonly checkpoints: Checkpoints
  private readonly words: Int32Array
  private readonly ends = new LeafEnds()
  /** True if the keys in `ends` have 64 bits. */
  private areEndsWide = false

  constructor(readonly order: ColumnOrder) {
    this.words = order.store.kernel.words
    this.checkpoints = new Checkpoints(this)
  }

  get bytes(): number {
    return this.leaves.length * LEAF_BYTES + this.ends.bytes + this.checkpoints.bytes
  }

  /** Appends `slots[from, to)`, which must be in order, and come after all slots of the index. @throws KernelFull */
  append(slots: Int32Array | Uint32Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      let leaf = this.leaves.at(-1)
      if (leaf === undefined || leaf.size >= FILL) leaf = this.addLeaf(this.leaves.length)
      const count = Math.min(FILL - leaf.size, to - at)
      this.words.set(slots.subarray(at, at + count), (leaf.address >>> 2) + leaf.size)
      leaf.size += count
      this.noteEnd(this.leaves.length - 1)
      this.size += count
      at += count
    }
  }

  /**
   * Adds a row by its current code and id. `from`: position from which `detach` has removed the row; null if the row is new.
   * @throws KernelFull
   */
  insert(slot: number, from: Target | null = null): void {
    const target = this.order.targetOf(slot)
    // Most new rows have the greatest id so far, and many have the latest time. For these, no leaf has to be searched.
    const found = this.isAfterAll(target) ? this.end() : this.find(target)
    const { words } = this
    let { leaf: number, at } = found
    let leaf = this.leaves[number] ?? this.addLeaf(number)
    if (leaf.size === LEAF_SLOTS) {
      const isAppended = number === this.leaves.length - 1 && at === leaf.size
      const right = this.addLeaf(number + 1)
      // Rows that come in order fill their leaves. If leaves were always split in halves, all leaves would stay half empty.
      const left = isAppended ? LEAF_SLOTS : LEAF_SLOTS >> 1
      words.copyWithin(right.address >>> 2, (leaf.address >>> 2) + left, (leaf.address >>> 2) + LEAF_SLOTS)
      right.size = LEAF_SLOTS - left
      leaf.size = left
      this.noteEnd(number)
      this.noteEnd(number + 1)
      if (at > left || isAppended) {
        at -= left
        leaf = right
        number++
      }
    }
    const base = leaf.address >>> 2
    words.copyWithin(base + at + 1, base + at, base + leaf.size)
    words[base + at] = slot
    leaf.size++
    this.size++
    if (at === leaf.size - 1) this.ends.set(number, target)
    this.checkpoints.note(slot, from, target)
  }

  /** Removes a row, which must still have the code and the id by which it was added. */
  remove(slot: number): void {
    const from = this.detach(slot)
    // `note` may search the index, and a leaf without rows would mislead this search. So it is called after `detach`, which
    // removes such a leaf.
    this.checkpoints.note(slot, from, null)
  }

  /**
   * Removes a row, and returns its position. The checkpoints are wrong until `insert` or `checkpoints.note` gets this position.
   */
  detach(slot: number): Target {
    const target = this.order.targetOf(slot)
    const number = this.leafOf(target)
    const leaf = this.leaves[number]
    const base = leaf.address >>> 2
    const end = base + leaf.size
    // The slots of a leaf are side by side in memory, so `indexOf` is faster than a binary search, which would read codes of rows
    // that are far apart.
    const at = this.words.subarray(base, end).indexOf(slot)
    if (at < 0) throw new Error(`slot ${slot} is not in its leaf of the index`)
    this.words.copyWithin(base + at, base + at + 1, end)
    leaf.size--
    this.size--
    if (leaf.size === 0 && this.leaves.length > 1) {
      this.leaves.splice(number, 1)
      this.ends.remove(number)
      this.order.store.kernel.free(leaf.address, LEAF_BYTES)
    } else if (at === leaf.size) this.noteEnd(number)
    return target
  }

  /** Notes that the texts of the index have new ranks, but are still in the same order as before. */
  noteSpread(): void {
    this.noteAllEnds()
    this.checkpoints.noteSpread()
  }

  /** Returns the position of the first slot that is not before the target. */
  find(target: Target): IndexPosition {
    if (this.leaves.length === 0) return { leaf: 0, at: 0 }
    const leaf = this.leafOf(target)
    const { address, size } = this.leaves[leaf]
    const guess = Math.floor(size * this.ends.guess(leaf, target))
    return { leaf, at: this.order.firstNotBefore(address, size, target, guess) }
  }

  /** Returns the position after all slots. */
  end(): IndexPosition {
    const leaf = Math.max(0, this.leaves.length - 1)
    return { leaf, at: this.leaves[leaf]?.size ?? 0 }
  }

  /** Returns the position of the slot with this number, counted from 0. */
  positionOf(number: number): IndexPosition {
    let left = number
    let leaf = 0
    while (leaf < this.leaves.length - 1 && left >= this.leaves[leaf].size) left -= this.leaves[leaf++].size
    return { leaf, at: left }
  }

  /** Returns the number of slots between two positions. */
  count(from: IndexPosition, to: IndexPosition): number {
    let count = to.at - from.at
    for (let leaf = from.leaf; leaf < to.leaf; leaf++) count += this.leaves[leaf].size
    return count
  }

  /**
   * Returns the number of rows with the target's key; the first of them is at the position. Returns null if there may be many, or
   * if they may continue in the next leaf.
   */
  countAt({ leaf, at }: IndexPosition, target: Target): number | null {
    const { order, words } = this
    const { address, size } = this.leaves[leaf] ?? { address: 0, size: 0 }
    const end = Math.min(size, at + SCANNED_MAX)
    for (let next = at; next < end; next++) if (!order.hasKey(words[(address >>> 2) + next], target)) return next - at
    // No rows follow the last leaf.
    return end === size && leaf >= this.leaves.length - 1 ? size - at : null
  }

  /** Calls `onRun` for each run of slots between two positions, with the address of the first slot and the number of slots. */
  eachRun(from: IndexPosition, to: IndexPosition, onRun: (address: number, count: number) => void): void {
    for (let number = from.leaf; number <= to.leaf && number < this.leaves.length; number++) {
      const { address, size } = this.leaves[number]
      const first = number === from.leaf ? from.at : 0
      const end = number === to.leaf ? to.at : size
      if (end > first) onRun(address + 4 * first, end - first)
    }
  }

  /** Returns the slot at a position; -1 at the end of the index. */
  slotAt({ leaf, at }: IndexPosition): number {
    const found = this.leaves[leaf]
    if (found !== undefined && at < found.size) return this.words[(found.address >>> 2) + at]
    const next = this.leaves[leaf + 1]
    return next === undefined || next.size === 0 ? -1 : this.words[next.address >>> 2]
  }

  /** Returns up to `most` slots from a position on, in the order of the index. */
  slotsFrom({ leaf, at }: IndexPosition, most: number): Uint32Array {
    const slots = new Uint32Array(most)
    let count = 0
    for (let number = leaf, first = at; number < this.leaves.length && count < most; number++, first = 0) {
      const { address, size } = this.leaves[number]
      const end = Math.min(size, first + most - count)
      slots.set(this.words.subarray((address >>> 2) + first, (address >>> 2) + end), count)
      count += end - first
    }
    return slots.subarray(0, count)
  }

  /** Frees the memory of the index, which is then empty. */
  release(): void {
    const { kernel } = this.order.store
    for (const { address } of this.leaves) kernel.free(address, LEAF_BYTES)
    this.leaves.length = 0
    this.ends.clear()
    this.size = 0
    this.checkpoints.release()
  }

  /** Returns the number of the leaf that contains the target's position. */
  private leafOf(target: Target): number {
    this.readWideEnds()
    return this.ends.find(target)
  }

  private isAfterAll(target: Target): boolean {
    this.readWideEnds()
    const last = this.leaves.length - 1
    return last >= 0 && this.leaves[last].size > 0 && this.ends.isBefore(last, target)
  }

  /** Adds an empty leaf. @throws KernelFull */
  private addLeaf(number: number): Leaf {
    const leaf = { address: this.order.store.kernel.reserve(LEAF_BYTES), size: 0 }
    this.leaves.splice(number, 0, leaf)
    this.ends.add(number, AT_START)
    return leaf
  }

  /** Notes the last row of a leaf, unless the leaf is empty. */
  private noteEnd(number: number) {
    const { address, size } = this.leaves[number]
    if (size > 0) this.ends.set(number, this.order.targetOf(this.words[(address >>> 2) + size - 1]))
  }

  private noteAllEnds() {
    for (let number = 0; number < this.leaves.length; number++) this.noteEnd(number)
  }

  /** Reads the ends again if the column has become wide since they were noted. */
  private readWideEnds() {
    const { isWide } = this.order
    if (isWide === this.areEndsWide) return
    this.areEndsWide = isWide
    this.noteAllEnds()
  }
}
