// Matches of conditions: bitmaps of the rows that meet all of them, by segment. Zone maps rule most segments out first.
import type { Condition } from './conditions.ts'
import type { RowStore } from './rowStore.ts'
import { NO_CODE, type Segment } from './segment.ts'

/** The greatest code of 32 bits. */
const NARROW_MAX = 2 ** 31 - 1

/** Stands for a bitmap without rows: 0 is no address. */
const NO_ROWS = 0

/** Result of a condition for all rows of a segment at once. */
type Verdict = 'all' | 'none' | 'some'

/** Numbers of matching rows by segment. */
export interface Counts {
  /** The segments that have some. */
  readonly segments: readonly Segment[]
  /** Rows in each of these segments. */
  readonly counts: readonly number[]
  readonly total: number
}

/** Counts with the address of each segment's bitmap. */
export interface Matches extends Counts {
  readonly bits: readonly number[]
}

/** The rows of these segments that meet all conditions. The bitmaps hold until the next call. */
export function matchesOf(conditions: readonly Condition[], segments: readonly Segment[]): Matches {
  return counted(segments, (segment) =>
    segment.live === 0 ? NO_ROWS : meeting(segment, conditions, segment.liveBits, segment.matchBits),
  )
}

/** Returns the rows that meet one more condition. The bitmaps hold until the next call; those of `matches` stay. */
export function restrict({ segments, bits }: Matches, condition: Condition): Matches {
  return counted(segments, (segment, at) => meeting(segment, [condition], bits[at], segment.workBits))
}

/** Counts the bits of bitmaps; `bitmapOf` returns the address of a segment's, or `NO_ROWS`. */
function counted(all: readonly Segment[], bitmapOf: (segment: Segment, at: number) => number): Matches {
  const [segments, bits, counts]: [Segment[], number[], number[]] = [[], [], []]
  let total = 0
  for (let at = 0; at < all.length; at++) {
    const segment = all[at]
    const found = bitmapOf(segment, at)
    if (found === NO_ROWS) continue
    const count = found === segment.liveBits ? segment.live : segment.kernel.wasm.popcount(found, segment.bitmapBytes)
    if (count === 0) continue
    total += count
    segments.push(segment)
    bits.push(found)
    counts.push(count)
  }
  return { segments, bits, counts, total }
}

/** The segments that may have rows that meet all conditions. Hundreds are ruled out for most lists. */
export function candidatesOf({ segments }: RowStore, conditions: readonly Condition[]): Segment[] {
  const ranges = conditions.filter(({ isComplement, byRank }) => !isComplement && byRank === null)
  const found: Segment[] = []
  for (const segment of segments) {
    let isRuledOut = false
    for (let at = 0; at < ranges.length && !isRuledOut; at++) {
      const { column, least, greatest } = ranges[at]
      isRuledOut = segment.greatestOf(column) < least || segment.leastOf(column) > greatest
    }
    if (!isRuledOut) found.push(segment)
  }
  return found
}

/** The address of those bits of `from` whose rows meet all conditions: `from`, `to`, or `NO_ROWS`. */
function meeting(segment: Segment, conditions: readonly Condition[], from: number, to: number): number {
  let bits = from
  for (const condition of conditions) {
    const verdict = verdictOf(segment, condition)
    if (verdict === 'none') return NO_ROWS
    if (verdict === 'all') continue
    test(segment, condition, bits, to)
    bits = to
  }
  return bits
}

/** By the least and the greatest code that the segment has. */
function verdictOf(segment: Segment, condition: Condition): Verdict {
  const { column, isComplement, byRank, anyOf } = condition
  const low = segment.leastOf(column)
  const high = segment.greatestOf(column)
  if (anyOf) return condition.least <= high && low <= condition.greatest ? 'some' : 'none'
  const least = leastIn(segment, condition)
  const greatest = greatestIn(segment, condition)
  if (least > greatest) return isComplement ? 'all' : 'none'
  if (byRank) return 'some'
  if (high < least || low > greatest) return isComplement ? 'all' : 'none'
  if (least <= low && high <= greatest && !segment.hasNone[column]) return isComplement ? 'none' : 'all'
  return 'some'
}

/** Returns the least number in the range that the segment's column can have. */
function leastIn(segment: Segment, { column, least }: Condition): number {
  return segment.isWide[column] ? least : Math.max(Math.ceil(least), NO_CODE + 1)
}

function greatestIn(segment: Segment, { column, greatest }: Condition): number {
  return segment.isWide[column] ? greatest : Math.min(Math.floor(greatest), NARROW_MAX)
}

/** Clears the bits of rows that do not meet the condition. */
function test(segment: Segment, condition: Condition, from: number, to: number): void {
  const { column, isComplement, byRank, anyOf } = condition
  const { wasm, scratch } = segment.kernel
  const least = leastIn(segment, condition)
  const greatest = greatestIn(segment, condition)
  const address = segment.addresses[column]
  const rows = segment.bitmapBytes * 8
  const flip = isComplement ? 0xffff : 0
  if (byRank) wasm.rank(address, from, segment.bitmapBytes, byRank.address, scratch.column)
  if (typeof anyOf === 'function') testEach(segment, column, anyOf, from, to)
  else if (anyOf) testAny(segment, anyOf, from, to)
  else if (segment.isWide[column]) wasm.range64(address, rows, from, to, least, greatest, flip)
  else wasm.range32(byRank ? scratch.column : address, rows, from, to, least, greatest - least, flip)
}

/** Clears the bits of rows that meet all of the conditions. */
function testAny(segment: Segment, others: readonly Condition[], from: number, to: number): void {
  const { words, scratch } = segment.kernel
  const rest = meeting(segment, others, from, scratch.column)
  for (let at = 0; at < segment.bitmapBytes; at += 4) {
    const left = rest === NO_ROWS ? 0 : words[(rest + at) >> 2]
    words[(to + at) >> 2] = words[(from + at) >> 2] & ~left
  }
}

/** Clears the bits of rows whose code does not pass. */
function testEach(segment: Segment, column: number, passes: (code: number) => boolean, from: number, to: number): void {
  const { words } = segment.kernel
  for (let at = 0; at < segment.bitmapBytes; at += 4) {
    let found = 0
    for (let left = words[(from + at) >> 2]; left !== 0; left &= left - 1) {
      const bit = 31 - Math.clz32(left & -left)
      if (passes(segment.codeAt(8 * at + bit, column))) found |= 1 << bit
    }
    words[(to + at) >> 2] = found
  }
}
