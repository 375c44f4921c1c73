// Sorted index of a property: the slots of all rows in the order of (code, id), in leaves like those of a B-tree.
import { Checkpoints, type Place } from './checkpoints.ts'
import type { ColumnOrder, Target } from './columnOrder.ts'

/** Maximum slots of a leaf. An insertion moves half of them on average: 4 KB. */
export const LEAF_SLOTS = 2_048
const LEAF_BYTES = 4 * LEAF_SLOTS
/** Maximum slots that are looked at one by one, to find where those of one key end. */
const SCANNED_MAX = 16
/** Slots of a newly built leaf, so that later rows find room. */
const FILL = Math.floor(0.75 * LEAF_SLOTS)

/** Slots that follow each other in the order of the index, at an address. */
export interface Leaf {
  readonly address: number
  size: number
}

/**
 * Slots in the order of a column, as leaves. Rows without a value come last. Remove a row before its code changes, and insert it
 * afterwards; its id must be set both times.
 */
export class SortedIndex {
  readonly leaves: Leaf[] = []
  /** Rows in the index. */
  size = 0
  /** Time of the last list that used the index. */
  lastUsedMs = 0
  readonly checkpoints: Checkpoints
  private readonly words: Int32Array

  constructor(readonly order: ColumnOrder) {
    this.words = order.store.kernel.words
    this.checkpoints = new Checkpoints(this)
  }

  get bytes(): number {
    return this.leaves.length * LEAF_BYTES + this.checkpoints.bytes
  }

  /** Appends `slots[from, to)`, which are in order and come after all others. @throws KernelFull */
  append(slots: Int32Array | Uint32Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      let leaf = this.leaves.at(-1)
      if (leaf === undefined || leaf.size >= FILL) {
        leaf = this.newLeaf()
        this.leaves.push(leaf)
      }
      const count = Math.min(FILL - leaf.size, to - at)
      this.words.set(slots.subarray(at, at + count), (leaf.address >>> 2) + leaf.size)
      leaf.size += count
      this.size += count
      at += count
    }
  }

  /** Adds a row with the code and the id that it has now. @throws KernelFull */
  insert(slot: number): void {
    const target = this.order.targetOf(slot)
    // Most new rows have the greatest id so far, and many the latest time: then no leaf has to be looked for.
    const found = this.isAfterAll(target) ? this.end() : this.find(target)
    const { words } = this
    let { leaf: number, at } = found
    if (this.leaves.length === 0) this.leaves.push(this.newLeaf())
    let leaf = this.leaves[number]
    if (leaf.size === LEAF_SLOTS) {
      const isAppended = number === this.leaves.length - 1 && at === leaf.size
      const right = this.newLeaf()
      // Rows that come in order fill their leaves; a split in halves would leave all of them half empty.
      const left = isAppended ? LEAF_SLOTS : LEAF_SLOTS >> 1
      words.copyWithin(right.address >>> 2, (leaf.address >>> 2) + left, (leaf.address >>> 2) + LEAF_SLOTS)
      right.size = LEAF_SLOTS - left
      leaf.size = left
      this.leaves.splice(number + 1, 0, right)
      if (at > left || isAppended) {
        at -= left
        leaf = right
      }
    }
    const base = leaf.address >>> 2
    words.copyWithin(base + at + 1, base + at, base + leaf.size)
    words[base + at] = slot
    leaf.size++
    this.size++
    this.checkpoints.note(slot, target, 1)
  }

  /** Removes a row, which still has the code and the id with which it was added. */
  remove(slot: number): void {
    const target = this.order.targetOf(slot)
    const { leaf: number, at } = this.find(target)
    const leaf = this.leaves[number]
    const base = leaf.address >>> 2
    if (this.words[base + at] !== slot) throw new Error(`slot ${slot} is not in its place of the index`)
    this.words.copyWithin(base + at, base + at + 1, base + leaf.size)
    leaf.size--
    this.size--
    if (leaf.size === 0 && this.leaves.length > 1) {
      this.leaves.splice(number, 1)
      this.order.store.kernel.free(leaf.address, LEAF_BYTES)
    }
    // Noted last: it may search for places, and an empty leaf would mislead the search.
    this.checkpoints.note(slot, target, -1)
  }

  /** The place of the first slot that is not before the target. */
  find(target: Target): Place {
    const { leaves, order, words } = this
    if (leaves.length === 0) return { leaf: 0, at: 0 }
    let from = 0
    let to = leaves.length - 1
    while (from < to) {
      const middle = (from + to) >>> 1
      const { address, size } = leaves[middle]
      if (order.isBefore(words[(address >>> 2) + size - 1], target)) from = middle + 1
      else to = middle
    }
    const { address, size } = leaves[from]
    return { leaf: from, at: order.firstNotBefore(address, size, target) }
  }

  /** The place after all slots. */
  end(): Place {
    const leaf = Math.max(0, this.leaves.length - 1)
    return { leaf, at: this.leaves[leaf]?.size ?? 0 }
  }

  /** The place of the slot with this number, from 0 on. */
  placeOf(number: number): Place {
    let left = number
    let leaf = 0
    while (leaf < this.leaves.length - 1 && left >= this.leaves[leaf].size) left -= this.leaves[leaf++].size
    return { leaf, at: left }
  }

  /** Number of slots between two places. */
  count(from: Place, to: Place): number {
    let count = to.at - from.at
    for (let leaf = from.leaf; leaf < to.leaf; leaf++) count += this.leaves[leaf].size
    return count
  }

  /** Number of rows with the key of a target, which begin at a place. Null: they may be many, or go on in the next leaf. */
  countAt({ leaf, at }: Place, target: Target): number | null {
    const { order, words } = this
    const { address, size } = this.leaves[leaf] ?? { address: 0, size: 0 }
    const end = Math.min(size, at + SCANNED_MAX)
    for (let next = at; next < end; next++) if (!order.hasKey(words[(address >>> 2) + next], target)) return next - at
    // At the end of the last leaf there are no more.
    return end === size && leaf >= this.leaves.length - 1 ? size - at : null
  }

  /** Calls `take` for each run of slots between two places, with the address of the first and their number. */
  eachRun(from: Place, to: Place, take: (address: number, count: number) => void): void {
    for (let number = from.leaf; number <= to.leaf && number < this.leaves.length; number++) {
      const { address, size } = this.leaves[number]
      const first = number === from.leaf ? from.at : 0
      const end = number === to.leaf ? to.at : size
      if (end > first) take(address + 4 * first, end - first)
    }
  }

  /** The slot at a place; -1: none, at the end. */
  slotAt({ leaf, at }: Place): number {
    const found = this.leaves[leaf]
    if (found !== undefined && at < found.size) return this.words[(found.address >>> 2) + at]
    const next = this.leaves[leaf + 1]
    return next === undefined || next.size === 0 ? -1 : this.words[next.address >>> 2]
  }

  /** Returns up to `most` slots from a place on, in their order. */
  slotsFrom({ leaf, at }: Place, most: number): Uint32Array {
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

  /** Frees the memory of the index. */
  release(): void {
    const { kernel } = this.order.store
    for (const { address } of this.leaves) kernel.free(address, LEAF_BYTES)
    this.leaves.length = 0
    this.size = 0
    this.checkpoints.release()
  }

  private isAfterAll(target: Target): boolean {
    const leaf = this.leaves.at(-1)
    return leaf !== undefined && leaf.size > 0 && this.order.isBefore(this.words[(leaf.address >>> 2) + leaf.size - 1], target)
  }

  private newLeaf(): Leaf {
    return { address: this.order.store.kernel.reserve(LEAF_BYTES), size: 0 }
  }
}
