import type { Condition } from './conditions.ts'
import { type Cut, cutFloats, cutNumbers, NONE, type Run, rangeOf } from './cut.ts'
import { ordinalOf } from './floats.ts'
import { BUCKETS, type Kernel, SCRATCH_ROWS } from './kernel.ts'
import { type Matches, matchesOf, restrict } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Segment } from './segment.ts'
import type { SegmentedRows } from './segmentedRows.ts'
import { sortSlots } from './sortSlots.ts'
import { type Stretch, stretchOf } from './stretch.ts'

/** So many rows, and twice the page's, are sorted at once: more are sooner cut into buckets first. */
const SORTED_MIN = 64

/** How many rows lie in each bucket of the first cut. */
export interface Cutting {
  readonly cut: Cut
  readonly counts: Int32Array
  readonly total: number
}

/**
 * Slots of the rows [from, from + size) of those that match, in the order of the keys, the last of which is the id. Finds the
 * buckets of the first key that they lie in and sorts the rows there; while those are too many, cuts the bucket into finer
 * ones, or, where it holds one value, by the next key. So the cost grows with the rows that match, not with `from`.
 */
export class PageSearch {
  /** So many rows are sorted at once. */
  private readonly sortedMax: number

  constructor(
    private readonly kernel: Kernel,
    private readonly rows: SegmentedRows,
    private readonly keys: readonly PageKey[],
    /** Which all rows meet that are asked for. */
    private readonly conditions: readonly Condition[],
    /** Rows of a page. */
    size: number,
  ) {
    this.sortedMax = Math.min(SCRATCH_ROWS, Math.max(SORTED_MIN, 2 * size))
  }

  /** `known`: the first cutting of the same rows by the same keys; else all that match. */
  find(known: Matches | Cutting, from: number, size: number): number[] {
    const end = Math.min(from + size, known.total)
    if (from >= end) return []
    if ('cut' in known) return this.between(known, from, end)
    return this.findIn(stretchOf(this.rows, known, this.keys[0] as PageKey, from, end), from, end)
  }

  /** The rows [from, end), all of which lie there. */
  findIn({ matches, before }: Stretch, from: number, end: number): number[] {
    return this.between(matches, from - before, end - before)
  }

  private between(known: Matches | Cutting, from: number, end: number): number[] {
    const found: number[] = []
    while (from + found.length < end) {
      const next = this.next(known, from + found.length, end)
      if (next.length === 0) throw new Error(`no row ${from + found.length} of ${known.total}`)
      found.push(...next)
    }
    return found
  }

  /** How the rows lie by the first key; null: they are few, and were sorted as they are. */
  firstCutting(matches: Matches): Cutting | null {
    if (matches.total <= this.sortedMax) return null
    const cut = this.cutOf(matches, 0)
    return { cut, counts: this.histogram(matches, cut).slice(), total: matches.total }
  }

  /** Some rows from `from` on, one at least. */
  private next(known: Matches | Cutting, from: number, end: number): number[] {
    let skipped = 0
    let rows = 'cut' in known ? null : known
    let cut = 'cut' in known ? known.cut : this.cutOf(known, 0)
    while (rows === null || rows.total > this.sortedMax) {
      const counts = rows === null ? (known as Cutting).counts : this.histogram(rows, cut)
      const run = this.runOf(counts, cut.key.isDescending, from - skipped, end - skipped)
      skipped += run.before
      rows = this.rowsOf(rows, rangeOf(cut, run))
      if (rows.total !== run.rows) throw new Error(`${rows.total} rows where ${run.rows} were counted`)
      if (rows.total > this.sortedMax)
        cut = run.first === NONE ? this.cutOf(rows, cut.level + 1) : this.finer(rows, cut)
    }
    return this.sorted(rows).slice(from - skipped, end - skipped)
  }

  /** `rows`: null for all that are asked for. */
  private rowsOf(rows: Matches | null, range: Condition): Matches {
    if (rows === null) return matchesOf(this.kernel, this.rows, [...this.conditions, range])
    return restrict(this.kernel, this.rows, rows, range)
  }

  /** The cut of all that rows can have by a key. */
  private cutOf({ segments }: Matches, level: number): Cut {
    const key = this.keys[level] as PageKey
    const { place, ranks } = key
    let [least, greatest, isWide] = ranks ? [ranks.least, ranks.greatest, false] : [Infinity, -Infinity, false]
    for (const number of ranks ? [] : segments) {
      const segment = this.rows.segments[number] as Segment
      least = Math.min(least, segment.leastOf(place))
      greatest = Math.max(greatest, segment.greatestOf(place))
      isWide ||= segment.isWide[place] as boolean
    }
    for (const condition of this.conditions) {
      if (condition.place !== place || condition.isComplement || (condition.byRank !== null) !== (ranks !== null))
        continue
      least = Math.max(least, isWide ? condition.least : Math.ceil(condition.least))
      greatest = Math.min(greatest, isWide ? condition.greatest : Math.floor(condition.greatest))
    }
    if (least > greatest) [least, greatest] = [0, 0]
    return isWide
      ? cutFloats(level, key, ordinalOf(least), ordinalOf(greatest))
      : cutNumbers(level, key, least, greatest)
  }

  /** The cut of rows that fell into one bucket: by the same key, or, where that is one value, by the next. */
  private finer(rows: Matches, cut: Cut): Cut {
    const { ordinals, calls, scratch } = this.kernel
    ordinals[scratch.reach >> 3] = ORDINAL_MAX
    ordinals[(scratch.reach >> 3) + 1] = -ORDINAL_MAX
    this.each(rows, cut, (column, bits, bytes) => {
      if (cut.isWide) calls.reach64(column, bits, bytes, scratch.reach)
      else calls.reach32(column, bits, bytes, scratch.reach)
    })
    const least = ordinals[scratch.reach >> 3] as bigint
    const greatest = ordinals[(scratch.reach >> 3) + 1] as bigint
    if (least === greatest) return this.cutOf(rows, cut.level + 1)
    const { level, key, isWide } = cut
    return isWide ? cutFloats(level, key, least, greatest) : cutNumbers(level, key, Number(least), Number(greatest))
  }

  /** How many rows lie in each bucket; it holds until the next call. */
  private histogram(rows: Matches, cut: Cut): Int32Array {
    const { counts, calls, scratch } = this.kernel
    const { least, leastOrdinal, shift } = cut
    counts.fill(0)
    this.each(rows, cut, (column, bits, bytes) => {
      if (cut.isWide) calls.histogram64(column, bits, bytes, leastOrdinal, shift, scratch.counts)
      else calls.histogram32(column, bits, bytes, least, shift, scratch.counts)
    })
    return counts
  }

  /** The buckets in which the rows [from, end) lie; not all of them, if that were too many rows to sort. */
  private runOf(counts: Int32Array, isDescending: boolean, from: number, end: number): Run {
    let before = 0
    for (let at = 0; at < BUCKETS; at++) {
      const first = isDescending ? BUCKETS - 1 - at : at
      let rows = counts[first] as number
      if (from >= before + rows) {
        before += rows
        continue
      }
      let last = first
      while (++at < BUCKETS && before + rows < end) {
        const next = isDescending ? BUCKETS - 1 - at : at
        if (first === NONE || next === NONE || rows + (counts[next] as number) > this.sortedMax) break
        rows += counts[next] as number
        last = next
      }
      return { first, last, rows, before }
    }
    throw new Error(`no row ${from} in the histogram`)
  }

  /** The slots of rows, in order. */
  private sorted({ segments, bits }: Matches): number[] {
    const { words, calls, scratch } = this.kernel
    const { rows } = this
    let to = scratch.rows
    for (let at = 0; at < segments.length; at++) {
      const number = segments[at] as number
      const { bitmapBytes } = rows.segments[number] as Segment
      to = calls.gather(bits[at] as number, bitmapBytes, number * rows.segmentRows, to)
    }
    return sortSlots(words.slice(scratch.rows >> 2, to >> 2), this.keys, rows)
  }

  /** Of each segment that has rows, a column of keys, made for the call where the segment's own is of others, and its rows. */
  private each(
    { segments, bits }: Matches,
    { key: { place, ranks }, isWide }: Cut,
    call: (column: number, bits: number, bytes: number) => void,
  ) {
    const { calls, scratch } = this.kernel
    for (let at = 0; at < segments.length; at++) {
      const segment = this.rows.segments[segments[at] as number] as Segment
      const [own, from, bytes] = [segment.columns[place] as number, bits[at] as number, segment.bitmapBytes]
      const isMade = ranks !== null || (isWide && !segment.isWide[place])
      if (ranks) calls.rank(own, from, bytes, ranks.address, scratch.column)
      else if (isMade) calls.widen(own, 8 * bytes, scratch.column)
      call(isMade ? scratch.column : own, from, bytes)
    }
  }
}

const ORDINAL_MAX = 2n ** 63n - 1n
