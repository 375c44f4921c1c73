import type { Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { NO_CODE, type Segment } from './segment.ts'

/** The greatest code of 32 bits. */
const NARROW_MAX = 2 ** 31 - 1

/** What a condition says of all rows of a segment at once. */
type Verdict = 'all' | 'none' | 'some'

/** Which rows of each segment meet all conditions: the addresses of bitmaps, 0 for none, and their sum. */
export interface Matches {
  readonly bits: readonly number[]
  readonly total: number
}

/** The bitmaps hold until the next call. */
export function matchesOf(kernel: Kernel, segments: readonly Segment[], conditions: readonly Condition[]): Matches {
  let total = 0
  const bits = segments.map((segment) => {
    const found = matchSegment(kernel, segment, conditions)
    if (found === 0) return 0
    const count = found === segment.liveBits ? segment.live : kernel.calls.popcount(found, segment.bitmapBytes)
    total += count
    return count === 0 ? 0 : found
  })
  return { bits, total }
}

/** Those of some rows that meet one more condition. The bitmaps hold until the next call; those of `matches` stay. */
export function restrict(
  kernel: Kernel,
  segments: readonly Segment[],
  matches: Matches,
  condition: Condition,
): Matches {
  let total = 0
  const bits = segments.map((segment, index) => {
    const from = matches.bits[index] as number
    const verdict = from === 0 ? 'none' : verdictOf(segment, condition)
    if (verdict === 'none') return 0
    if (verdict === 'some') test(kernel, segment, condition, from, segment.workBits)
    const to = verdict === 'some' ? segment.workBits : from
    const count = kernel.calls.popcount(to, segment.bitmapBytes)
    total += count
    return count === 0 ? 0 : to
  })
  return { bits, total }
}

/** Whether no row of a segment can meet all conditions. */
export function isRuledOut(segment: Segment, conditions: readonly Condition[]): boolean {
  if (segment.live === 0) return true
  for (const condition of conditions) if (verdictOf(segment, condition) === 'none') return true
  return false
}

function matchSegment(kernel: Kernel, segment: Segment, conditions: readonly Condition[]): number {
  if (isRuledOut(segment, conditions)) return 0
  let from = segment.liveBits
  for (const condition of conditions) {
    if (verdictOf(segment, condition) === 'all') continue
    test(kernel, segment, condition, from, segment.matchBits)
    from = segment.matchBits
  }
  return from
}

/** By the least and the greatest code that the segment has. Hundreds are asked for a list: nothing is allocated. */
function verdictOf(segment: Segment, condition: Condition): Verdict {
  const { place, isComplement, byRank } = condition
  const [least, greatest] = [leastIn(segment, condition), greatestIn(segment, condition)]
  if (least > greatest) return isComplement ? 'all' : 'none'
  if (byRank) return 'some'
  const [low, high] = [segment.least[place] as number, segment.greatest[place] as number]
  if (high < least || low > greatest) return isComplement ? 'all' : 'none'
  if (least <= low && high <= greatest && !segment.hasNone[place]) return isComplement ? 'none' : 'all'
  return 'some'
}

/** Of the numbers that the segment's column can have, the least and the greatest in the range. */
function leastIn(segment: Segment, { place, least }: Condition): number {
  return segment.isWide[place] ? least : Math.max(Math.ceil(least), NO_CODE + 1)
}

function greatestIn(segment: Segment, { place, greatest }: Condition): number {
  return segment.isWide[place] ? greatest : Math.min(Math.floor(greatest), NARROW_MAX)
}

function test({ calls }: Kernel, segment: Segment, condition: Condition, from: number, to: number): void {
  const { place, isComplement, byRank } = condition
  const [least, greatest] = [leastIn(segment, condition), greatestIn(segment, condition)]
  const column = segment.columns[place] as number
  const rows = segment.bitmapBytes * 8
  const flip = isComplement ? 0xffff : 0
  if (segment.isWide[place]) calls.range64(column, rows, from, to, least, greatest, flip)
  else if (byRank) calls.rankRange(column, rows, from, to, byRank.address, least, greatest - least)
  else calls.range32(column, rows, from, to, least, greatest - least, flip)
}
