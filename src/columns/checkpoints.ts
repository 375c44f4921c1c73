// Checkpoints of an index: bitmaps of all rows before certain positions. The bitmap of any range is the difference of two of
// these bitmaps, corrected for the rows between the range's bounds and the nearest checkpoints.
import { firstNotBefore } from './bisect.ts'
import { type ColumnOrder, compareTargets, type Target } from './columnOrder.ts'
import { KernelFull } from './kernel.ts'

/** Number of stretches into which checkpoints divide an index. No stretch is longer than twice the mean. */
const STRETCHES = 32
/** Minimum number of rows for which an index gets checkpoints. In a smaller index every range is found quickly without them. */
const ROWS_MIN = 32_768
/** Address that stands for a bitmap without rows. Such a bitmap is not stored, and no stored bitmap has address 0. */
const NO_ROWS = 0

/** Position between two slots of an index: the number of a leaf, and the index of the next slot in the leaf. */
export interface IndexPosition {
  readonly leaf: number
  readonly at: number
}

/** The parts of a `SortedIndex` that its checkpoints need. */
interface IndexedRows {
  readonly order: ColumnOrder
  readonly size: number
  find(target: Target): IndexPosition
  positionOf(number: number): IndexPosition
  end(): IndexPosition
  count(from: IndexPosition, to: IndexPosition): number
  slotAt(position: IndexPosition): number
  eachRun(from: IndexPosition, to: IndexPosition, onRun: (address: number, count: number) => void): void
}

/** A bound of a range: its position in the index, and the target for which it was found. */
export interface Bound {
  readonly target: Target
  readonly position: IndexPosition
}

interface Checkpoint {
  target: Target
  /** Code of the text whose rank is the key of the target; NaN if the key is not the rank of a text. */
  readonly textCode: number
  /** Address of the bitmap of all rows before the checkpoint. */
  readonly bits: number
  /** Number of rows between the previous checkpoint and this one. */
  rows: number
}

export class Checkpoints {
  /** Checkpoints in the order of the index. Each can be used as soon as it is in this array. */
  readonly all: Checkpoint[] = []
  isBeingBuilt = false
  private isWide = false

  constructor(private readonly index: IndexedRows) {}

  /** Bytes of the checkpoints. While they are being built, bytes of all checkpoints that the index will have. */
  get bytes(): number {
    return this.isBeingBuilt ? this.bytesWanted : this.all.length * this.index.order.store.bitmapBytes
  }

  /** True if the index is large enough for checkpoints, and has none yet. */
  get areMissing(): boolean {
    return this.all.length === 0 && this.index.size >= ROWS_MIN
  }

  /** Bytes of all checkpoints that the index will have. */
  get bytesWanted(): number {
    return STRETCHES * this.index.order.store.bitmapBytes
  }

  /**
   * Builds the checkpoints, one in each step. Rows may change between steps. All checkpoints are dropped if memory runs out, or
   * if they are released or the keys become wider in the meantime. @throws KernelFull
   */
  *build(): Generator<void, void> {
    this.release()
    this.isWide = this.index.order.isWide
    this.isBeingBuilt = true
    let areAll = false
    try {
      for (let made = 1; made < STRETCHES; made++) {
        const target = this.targetOfNumber(Math.floor((made * this.index.size) / STRETCHES))
        const last = this.all.at(-1)
        const areGone = made > 1 && last === undefined
        if (target === null || areGone || this.isWide !== this.index.order.isWide) return
        if (last === undefined || compareTargets(last.target, target) < 0) this.add(this.all.length, target)
        yield
      }
      areAll = true
    } finally {
      if (!areAll) this.release()
      this.isBeingBuilt = false
    }
  }

  /**
   * Notes that a row has moved in the index. `from`: null if the row is new in the index. `to`: null if the row has been removed
   * from it.
   */
  note(slot: number, from: Target | null, to: Target | null): void {
    if (this.all.length === 0) return
    if (this.isWide !== this.index.order.isWide) {
      this.release()
      return
    }
    const left = this.stretchOf(from)
    const entered = this.stretchOf(to)
    const { words } = this.index.order.store.kernel
    for (let at = Math.min(left, entered); at < Math.max(left, entered); at++) {
      const word = (this.all[at].bits >>> 2) + (slot >> 5)
      words[word] = words[word] ^ (1 << (slot & 31))
    }
    if (from !== null && left < this.all.length) this.all[left].rows--
    if (to !== null && entered < this.all.length) this.all[entered].rows++
    if (this.isBeingBuilt) return
    const changed = to === null ? left : entered
    const rows = changed < this.all.length ? this.all[changed].rows : this.rowsAfterLast()
    if (rows > (2 * this.index.size) / STRETCHES) this.split(changed)
  }

  /**
   * Returns the number of the stretch that contains a target. It is also the number of the checkpoint at the end of the stretch.
   * Null stands for a row that is not in the index, and counts as after all checkpoints.
   */
  private stretchOf(target: Target | null): number {
    return target === null ? this.all.length : this.nextAfter(target)
  }

  private rowsAfterLast(): number {
    return this.all.reduce((left, { rows }) => left - rows, this.index.size)
  }

  /** Notes that the texts of the index have new ranks, but are still in the same order as before. */
  noteSpread(): void {
    const { ranks } = this.index.order
    if (ranks === null) return
    for (const one of this.all) if (!Number.isNaN(one.textCode)) one.target = { ...one.target, low: ranks.ranks[one.textCode] }
  }

  /**
   * Writes a bitmap of the rows between two bounds; `from` must not be after `to`. Combines the bitmaps of the nearest
   * checkpoints, and flips each row between a bound and its checkpoint.
   */
  writeBetween(from: Bound, to: Bound, bits: number): void {
    const { store } = this.index.order
    const { kernel, bitmapBytes } = store
    const low = this.nearest(from)
    const high = this.nearest(to)
    if (low.bits === high.bits) kernel.words.fill(0, bits >>> 2, (bits + bitmapBytes) >>> 2)
    else if (low.bits === NO_ROWS) kernel.words.copyWithin(bits >>> 2, high.bits >>> 2, (high.bits + bitmapBytes) >>> 2)
    else kernel.wasm.andNot(high.bits, low.bits, bits, bitmapBytes)
    this.flipBetween(low.position, from.position, bits)
    this.flipBetween(high.position, to.position, bits)
  }

  /** Returns the number of rows that `writeBetween` would flip one by one. */
  costBetween(from: Bound, to: Bound): number {
    return this.nearest(from).distance + this.nearest(to).distance
  }

  /**
   * Returns the position of a checkpoint. A negative number means the start of the index, a number after the last checkpoint its
   * end.
   */
  positionOf(number: number): IndexPosition {
    if (number < 0) return { leaf: 0, at: 0 }
    return number < this.all.length ? this.index.find(this.all[number].target) : this.index.end()
  }

  release(): void {
    for (const { bits } of this.all) this.index.order.store.freeBitmap(bits)
    this.all.length = 0
  }

  /** Returns the checkpoint, or the end of the index, that has the fewest rows between itself and a bound. */
  private nearest({ target, position }: Bound): { bits: number; position: IndexPosition; distance: number } {
    const { index } = this
    const next = this.nextAfter(target)
    const before = this.positionOf(next - 1)
    const after = this.positionOf(next)
    const toBefore = index.count(before, position)
    const toAfter = index.count(position, after)
    if (toBefore <= toAfter) return { bits: this.bitsOf(next - 1), position: before, distance: toBefore }
    return { bits: this.bitsOf(next), position: after, distance: toAfter }
  }

  /** Returns the address of the bitmap of the rows before a checkpoint. `number`: as in `positionOf`. */
  bitsOf(number: number): number {
    if (number < 0) return NO_ROWS
    return this.all[number]?.bits ?? this.index.order.store.liveBits
  }

  private flipBetween(one: IndexPosition, other: IndexPosition, bits: number) {
    const { wasm } = this.index.order.store.kernel
    const [from, to] = compare(one, other) < 0 ? [one, other] : [other, one]
    this.index.eachRun(from, to, (address, count) => wasm.flip(address, count, bits))
  }

  /** Returns the number of the first checkpoint after a target; the number of checkpoints if there is none. */
  nextAfter(target: Target): number {
    return firstNotBefore(0, this.all.length, (number) => compareTargets(this.all[number].target, target) <= 0)
  }

  /**
   * Returns the text code of the row at a position. Returns NaN if there is no row, if the row has no value, or if the index is
   * not by ranks.
   */
  private textCodeAt(position: IndexPosition): number {
    const { ranks, store, column } = this.index.order
    const slot = this.index.slotAt(position)
    return ranks === null || slot < 0 ? Number.NaN : Number(store.codeAt(slot, column))
  }

  private targetOfNumber(number: number): Target | null {
    const slot = this.index.slotAt(this.index.positionOf(number))
    return slot < 0 ? null : this.index.order.targetOf(slot)
  }

  /** Adds a checkpoint as number `at`. Its bitmap begins as a copy of the previous checkpoint's. @throws KernelFull */
  private add(at: number, target: Target): void {
    const { store } = this.index.order
    const { words } = store.kernel
    const bits = store.reserveBitmap()
    const before = this.positionOf(at - 1)
    const position = this.index.find(target)
    const known = this.all[at - 1]
    if (known !== undefined) words.copyWithin(bits >>> 2, known.bits >>> 2, (known.bits + store.bitmapBytes) >>> 2)
    this.flipBetween(before, position, bits)
    const rows = this.index.count(before, position)
    const after = this.all[at]
    if (after !== undefined) after.rows -= rows
    this.all.splice(at, 0, { target, textCode: this.textCodeAt(position), bits, rows })
  }

  /**
   * Divides a stretch that has become too long. If there are as many checkpoints as an index may have, it first joins two
   * neighboring stretches: those with the fewest rows together.
   */
  private split(stretch: number): void {
    const from = this.positionOf(stretch - 1)
    const to = this.positionOf(stretch)
    const middle = this.index.count({ leaf: 0, at: 0 }, from) + (this.index.count(from, to) >> 1)
    const target = this.targetOfNumber(middle)
    if (target === null || this.all.some((one) => compareTargets(one.target, target) === 0)) return
    if (this.all.length >= STRETCHES) this.joinShortest(stretch)
    try {
      this.add(this.nextAfter(target), target)
    } catch (error) {
      // Without the checkpoint, lists take longer, but their results are right.
      if (!(error instanceof KernelFull)) throw error
    }
  }

  private joinShortest(but: number) {
    let shortest = -1
    let rows = Number.POSITIVE_INFINITY
    for (let at = 0; at + 1 < this.all.length; at++) {
      const both = this.all[at].rows + this.all[at + 1].rows
      if (at === but || at + 1 === but || both >= rows) continue
      rows = both
      shortest = at
    }
    if (shortest < 0) return
    const [gone] = this.all.splice(shortest, 1)
    this.all[shortest].rows += gone.rows
    this.index.order.store.freeBitmap(gone.bits)
  }
}

function compare(one: IndexPosition, other: IndexPosition): number {
  return one.leaf - other.leaf || one.at - other.at
}
