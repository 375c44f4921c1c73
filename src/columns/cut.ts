// Buckets of a sort key: how the range of its codes is divided, and the condition of the rows in some buckets.
import { floatOf, ordinalOf } from './codes.ts'
import { type Condition, withCode } from './conditions.ts'
import { BUCKETS } from './kernel.ts'
import type { PageKey } from './pageKeys.ts'

/** Bucket of rows without a value: they come behind all others in ascending order. */
export const NONE = BUCKETS - 1

/** Division of rows into buckets: the key, the least code, and the width of a bucket, 2^shift. */
export interface Cut {
  readonly level: number
  readonly key: PageKey
  /** True if codes are compared as ordinals of floats, because a column of the key has floats. */
  readonly isWide: boolean
  readonly shift: number
  readonly least: number
  readonly greatest: number
  /** The ordinal of the least code if it is wide; else 0, because bigint arithmetic costs as much as the rows do. */
  readonly leastOrdinal: bigint
}

/** Buckets next to each other in the order of the page; the one of rows without a value is alone. */
export interface Run {
  readonly first: number
  readonly last: number
  readonly rows: number
  /** Rows that come before them. */
  readonly before: number
}

/** Buckets from the least code to the greatest, those of rows without a value not among them. */
export function cutBetween(level: number, key: PageKey, isWide: boolean, least: number, greatest: number): Cut {
  const leastOrdinal = isWide ? ordinalOf(least) : 0n
  const width = isWide ? Number(ordinalOf(greatest) - leastOrdinal) : greatest - least
  let shift = 0
  while (Math.floor(width / 2 ** shift) >= NONE) shift++
  return { level, key, isWide, shift, least, greatest, leastOrdinal }
}

/** Condition that the rows of some buckets meet. */
export function rangeOf(cut: Cut, { first, last }: Run): Condition {
  const { column, ranks } = cut.key
  if (first === NONE) return withCode(column, Number.NaN)
  const [low, high] = first < last ? [first, last] : [last, first]
  const [least, greatest] = cut.isWide ? floatsOf(cut, low, high) : numbersOf(cut, low, high)
  return { column, least, greatest, isComplement: false, byRank: ranks }
}

/** Returns the least and the greatest number of the buckets from `low` to `high`. */
function numbersOf({ least, greatest, shift }: Cut, low: number, high: number): [number, number] {
  return [least + low * 2 ** shift, Math.min(least + (high + 1) * 2 ** shift - 1, greatest)]
}

function floatsOf({ leastOrdinal, greatest, shift }: Cut, low: number, high: number): [number, number] {
  const from = leastOrdinal + (BigInt(low) << BigInt(shift))
  const to = leastOrdinal + (BigInt(high + 1) << BigInt(shift)) - 1n
  // That of -0, which is no code: a comparison would take 0, of the next bucket, for equal.
  const below = to === -1n ? -Number.MIN_VALUE : floatOf(to)
  return [floatOf(from), to < ordinalOf(greatest) ? below : greatest]
}
