// Order of rows by one property and then the id. Keys are codes of 32 or 64 bits, or the ranks of texts, and are read from the
// column.

import { type Code, halvesTo, NO_CODE } from './codes.ts'
import type { ColumnStore } from './columnStore.ts'

/** Rank of rows without a value: greater than the ranks of all texts. */
const NO_RANK = 0xffffffff

/** Rank of a text whose place in the order is not known yet. */
export const NOT_PLACED = 0

/** Ranks of texts by their codes; 0: not known yet. New texts may replace the array, so read the property each time. */
export interface Ranks {
  readonly ranks: Uint32Array
}

/**
 * A position in the order: a key of 64 bits as two unsigned halves, and an id. Keys ascend as values do. Rows without a value
 * have the greatest key.
 */
export interface Target {
  readonly high: number
  readonly low: number
  readonly id: number
}

/** Id that is less than every id of a row. */
export const BEFORE_IDS = -1
/** Id that is greater than every id of a row. */
export const AFTER_IDS = Number.POSITIVE_INFINITY

/** Distance in slots from a guess, within which most searches find their result. */
const NEAR = 32

const lows = new Int32Array(1)
const highs = new Int32Array(1)

export class ColumnOrder {
  private readonly words: Int32Array
  /** Address of the column, in words. Columns never move. */
  private readonly base: number

  /** `ranks`: the ranks by which texts are ordered; null: rows are ordered by codes. */
  constructor(
    readonly store: ColumnStore,
    readonly column: number,
    readonly ranks: Ranks | null,
  ) {
    this.words = store.kernel.words
    this.base = store.addressOf(column) >>> 2
  }

  /** True if keys have 64 bits. When a column becomes wide, each `Target` made before is invalid. */
  get isWide(): boolean {
    return this.ranks === null && this.store.isWide(this.column)
  }

  /**
   * Returns the index of the first of `count` slots that is not before the target; `count` if all are before. `guess`: the
   * probable result. Each code that is read is a cache miss, and a search near a good guess reads fewer codes.
   */
  firstNotBefore(address: number, count: number, target: Target, guess: number): number {
    if (count === 0) return 0
    const { words, isWide } = this
    const ranks = this.ranks === null ? null : this.ranks.ranks
    const first = address >>> 2
    const near = Math.max(0, guess - NEAR)
    const far = Math.min(count - 1, guess + NEAR)
    const isAfterNear = this.isBefore(words[first + near], target, ranks, isWide)
    const isAfterFar = this.isBefore(words[first + far], target, ranks, isWide)
    let from = 0
    let to = count
    if (isAfterFar) from = far + 1
    else if (isAfterNear) {
      from = near + 1
      to = far
    } else to = near
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.isBefore(words[first + middle], target, ranks, isWide)) from = middle + 1
      else to = middle
    }
    return from
  }

  /** Returns whether a row is before the target. The caller reads `ranks` and `isWide` once for all rows of a search. */
  private isBefore(slot: number, target: Target, ranks: Uint32Array | null, isWide: boolean): boolean {
    const { words, base } = this
    let low: number
    if (isWide) {
      const high = highOf(words[base + 2 * slot + 1], words[base + 2 * slot])
      if (high !== target.high) return high < target.high
      low = (words[base + 2 * slot] - 1) >>> 0
    } else {
      const code = words[base + slot]
      if (ranks === null) low = narrowKey(code)
      else low = code === NO_CODE ? NO_RANK : ranks[code]
    }
    return low === target.low ? this.store.idAt(slot) < target.id : low < target.low
  }

  /** Returns the position of a row. */
  targetOf(slot: number): Target {
    return { high: this.highKey(slot), low: this.lowKey(slot), id: this.store.idAt(slot) }
  }

  /**
   * Returns the position of an id among the rows with a code. In an order by ranks, `code` is a rank. For NaN, returns the
   * position among the rows without a value.
   */
  targetAt(code: Code, id: number): Target {
    if (this.ranks !== null) {
      if (code === Number.POSITIVE_INFINITY) return { high: 0, low: NO_RANK - 0.5, id }
      return { high: 0, low: Number.isNaN(code) ? NO_RANK : Number(code), id }
    }
    halvesTo(lows, highs, 0, code)
    const high = highs[0]
    const low = lows[0]
    if (this.store.isWide(this.column)) return { high: highOf(high, low), low: (low - 1) >>> 0, id }
    if (Number.isNaN(code)) return { high: 0, low: NO_RANK, id }
    // A code that does not fit into 32 bits is before or after all codes that fit. Its key is not an integer, so no row has this
    // key.
    if (high < low >> 31 || (high === -1 && low === NO_CODE)) return { high: 0, low: -0.5, id }
    if (high !== low >> 31) return { high: 0, low: NO_RANK - 0.5, id }
    return { high: 0, low: narrowKey(low), id }
  }

  /** Returns the upper half of the key by which a row is ordered. */
  highKey(slot: number): number {
    const { store, column } = this
    if (this.ranks !== null || !store.isWide(column)) return 0
    return highOf(store.highAt(slot, column), store.lowAt(slot, column))
  }

  lowKey(slot: number): number {
    const { store, column, ranks } = this
    const { words } = store.kernel
    const address = store.addressOf(column) >>> 2
    if (ranks !== null) {
      const code = words[address + slot]
      return code === NO_CODE ? NO_RANK : ranks.ranks[code]
    }
    if (store.isWide(column)) return (words[address + 2 * slot] - 1) >>> 0
    return narrowKey(words[address + slot])
  }

  /** Returns a number that orders rows as their keys do, exact up to 2^53; Infinity if the row has no value. */
  numberOf(slot: number): number {
    const { store, column } = this
    if (this.ranks !== null || !store.isWide(column)) {
      const key = this.lowKey(slot)
      return key === NO_RANK ? Number.POSITIVE_INFINITY : key
    }
    const high = store.highAt(slot, column)
    const low = store.lowAt(slot, column)
    return high === NO_CODE && low === 0 ? Number.POSITIVE_INFINITY : high * 2 ** 32 + (low >>> 0)
  }

  /** Returns whether a row has the key of a target. */
  hasKey(slot: number, { high, low }: Target): boolean {
    return this.lowKey(slot) === low && this.highKey(slot) === high
  }

  /** Returns whether two rows have the same key. */
  isSameKey(one: number, other: number): boolean {
    return this.lowKey(one) === this.lowKey(other) && this.highKey(one) === this.highKey(other)
  }

  /** Compares two rows by their keys, without their ids. */
  compare(one: number, other: number): number {
    const difference = this.highKey(one) - this.highKey(other)
    return difference === 0 ? this.lowKey(one) - this.lowKey(other) : difference
  }
}

/** Compares two positions in the order. */
export function compareTargets(one: Target, other: Target): number {
  if (one.high !== other.high) return one.high - other.high
  if (one.low !== other.low) return one.low - other.low
  return one.id === other.id ? 0 : one.id - other.id
}

/** Returns the key of a code as an unsigned integer. Rows without a value have the least code, and get the greatest key. */
function narrowKey(code: number): number {
  return (code + 0x7fffffff) >>> 0
}

function highOf(high: number, low: number): number {
  const unsigned = (high ^ 0x80000000) >>> 0
  return low === 0 ? (unsigned - 1) >>> 0 : unsigned
}
