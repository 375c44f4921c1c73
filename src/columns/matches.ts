import type { Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { NO_CODE, type Segment } from './segment.ts'
import type { SegmentedRows } from './segmentedRows.ts'

/** The greatest code of 32 bits. */
const NARROW_MAX = 2 ** 31 - 1

/** What a condition says of all rows of a segment at once. */
type Verdict = 'all' | 'none' | 'some'

/** Rows of some segments: the number of each, the address of its bitmap, how many there are, and their sum. */
export interface Matches {
  readonly segments: readonly number[]
  readonly bits: readonly number[]
  readonly counts: readonly number[]
  readonly total: number
}

/** Those that meet all conditions. The bitmaps hold until the next call. */
export function matchesOf(kernel: Kernel, rows: SegmentedRows, conditions: readonly Condition[]): Matches {
  return matchesAmong(kernel, rows, candidatesOf(rows, conditions), conditions)
}

/** Those of the segments of these numbers. */
export function matchesAmong(
  kernel: Kernel,
  rows: SegmentedRows,
  numbers: readonly number[],
  conditions: readonly Condition[],
): Matches {
  const segments: number[] = []
  const bits: number[] = []
  const counts: number[] = []
  let total = 0
  for (const number of numbers) {
    const segment = rows.segments[number] as Segment
    const found = matchSegment(kernel, segment, conditions)
    if (found === 0) continue
    const count = found === segment.liveBits ? segment.live : kernel.calls.popcount(found, segment.bitmapBytes)
    if (count === 0) continue
    total += count
    segments.push(number)
    bits.push(found)
    counts.push(count)
  }
  return { segments, bits, counts, total }
}

/** Those of different segments together. */
export function joined(parts: readonly Matches[]): Matches {
  const [first] = parts
  if (first !== undefined && parts.length === 1) return first
  return {
    segments: parts.flatMap(({ segments }) => segments),
    bits: parts.flatMap(({ bits }) => bits),
    counts: parts.flatMap(({ counts }) => counts),
    total: parts.reduce((sum, { total }) => sum + total, 0),
  }
}

/** Those of some rows that meet one more condition. The bitmaps hold until the next call; those of `matches` stay. */
export function restrict(kernel: Kernel, rows: SegmentedRows, matches: Matches, condition: Condition): Matches {
  const segments: number[] = []
  const bits: number[] = []
  const counts: number[] = []
  let total = 0
  for (let at = 0; at < matches.segments.length; at++) {
    const segment = rows.segments[matches.segments[at] as number] as Segment
    const from = matches.bits[at] as number
    const verdict = verdictOf(segment, condition)
    if (verdict === 'none') continue
    if (verdict === 'some') test(kernel, segment, condition, from, segment.workBits)
    const to = verdict === 'some' ? segment.workBits : from
    const count = kernel.calls.popcount(to, segment.bitmapBytes)
    if (count === 0) continue
    total += count
    segments.push(matches.segments[at] as number)
    bits.push(to)
    counts.push(count)
  }
  return { segments, bits, counts, total }
}

/** The numbers of the segments that may have rows that meet all conditions. Hundreds are ruled out for most lists. */
export function candidatesOf({ segments, zones }: SegmentedRows, conditions: readonly Condition[]): number[] {
  const ranges = conditions.filter(({ isComplement, byRank }) => !isComplement && byRank === null)
  const found: number[] = []
  for (let number = 0; number < segments.length; number++) {
    let isRuledOut = false
    for (let at = 0; at < ranges.length && !isRuledOut; at++) {
      const { place, least, greatest } = ranges[at] as Condition
      isRuledOut =
        ((zones.greatest[place] as Float64Array)[number] as number) < least ||
        ((zones.least[place] as Float64Array)[number] as number) > greatest
    }
    if (!isRuledOut) found.push(number)
  }
  return found
}

function matchSegment(kernel: Kernel, segment: Segment, conditions: readonly Condition[]): number {
  if (segment.live === 0) return 0
  let from = segment.liveBits
  for (const condition of conditions) {
    const verdict = verdictOf(segment, condition)
    if (verdict === 'none') return 0
    if (verdict === 'all') continue
    test(kernel, segment, condition, from, segment.matchBits)
    from = segment.matchBits
  }
  return from
}

/** By the least and the greatest code that the segment has. */
function verdictOf(segment: Segment, condition: Condition): Verdict {
  const { place, isComplement, byRank } = condition
  const least = leastIn(segment, condition)
  const greatest = greatestIn(segment, condition)
  if (least > greatest) return isComplement ? 'all' : 'none'
  if (byRank) return 'some'
  const low = segment.leastOf(place)
  const high = segment.greatestOf(place)
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
  const least = leastIn(segment, condition)
  const greatest = greatestIn(segment, condition)
  const column = segment.columns[place] as number
  const rows = segment.bitmapBytes * 8
  const flip = isComplement ? 0xffff : 0
  if (segment.isWide[place]) calls.range64(column, rows, from, to, least, greatest, flip)
  else if (byRank) calls.rankRange(column, rows, from, to, byRank.address, least, greatest - least)
  else calls.range32(column, rows, from, to, least, greatest - least, flip)
}
