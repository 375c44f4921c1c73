import type { Condition } from './conditions.ts'
import { NO_TEXT } from './dictionary.ts'
import { floatOf, ordinalOf } from './floats.ts'
import { BUCKETS, type Kernel, SCRATCH_ROWS } from './kernel.ts'
import { type Matches, matchesOf, restrict } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Segment } from './segment.ts'
import type { SegmentedRows } from './segmentedRows.ts'
import { sortSlots } from './sortSlots.ts'
import { type Stretch, stretchOf } from './stretch.ts'

/** Of rows without a value: they lie behind all others, where these ascend. */
const NONE = BUCKETS - 1
/** So many rows, and twice the page's, are sorted at once: more are sooner cut into buckets first. */
const SORTED_MIN = 64

/** Where rows fall into buckets: by which key, from which least ordinal on, and of what width, 2^shift. */
interface Cut {
  readonly level: number
  readonly key: PageKey
  /** Whether ordinals are those of floats, as a column of the key has some. */
  readonly isWide: boolean
  readonly least: bigint
  readonly greatest: bigint
  readonly shift: bigint
}

/** How many rows lie in each bucket of the first cut. */
export interface Cutting {
  readonly cut: Cut
  readonly counts: Int32Array
  readonly total: number
}

/** Buckets next to each other in the order of the page; the one of rows without a value is alone. */
interface Run {
  readonly first: number
  readonly last: number
  readonly rows: number
  /** Rows that come before them. */
  readonly before: number
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
      ? cutBetween({ level, key, isWide }, ordinalOf(least), ordinalOf(greatest))
      : cutBetween({ level, key, isWide }, BigInt(least), BigInt(greatest))
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
    return least === greatest ? this.cutOf(rows, cut.level + 1) : cutBetween(cut, least, greatest)
  }

  /** How many rows lie in each bucket; it holds until the next call. */
  private histogram(rows: Matches, cut: Cut): Int32Array {
    const { counts, calls, scratch } = this.kernel
    const [shift, narrowLeast] = [Number(cut.shift), Number(cut.least)]
    counts.fill(0)
    this.each(rows, cut, (column, bits, bytes) => {
      if (cut.isWide) calls.histogram64(column, bits, bytes, cut.least, shift, scratch.counts)
      else calls.histogram32(column, bits, bytes, narrowLeast, shift, scratch.counts)
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

/** Buckets from the least ordinal to the greatest, those of rows without a value not among them. */
function cutBetween(
  { level, key, isWide }: Pick<Cut, 'level' | 'key' | 'isWide'>,
  least: bigint,
  greatest: bigint,
): Cut {
  let shift = 0n
  while ((greatest - least) >> shift >= BigInt(NONE)) shift++
  return { level, key, isWide, least, greatest, shift }
}

/** What the rows of some buckets have in common. */
function rangeOf({ key: { place, ranks }, isWide, least, greatest, shift }: Cut, { first, last }: Run): Condition {
  if (first === NONE && ranks) return { place, least: NO_TEXT, greatest: NO_TEXT, isComplement: false, byRank: null }
  if (first === NONE) return { place, least: -Infinity, greatest: Infinity, isComplement: true, byRank: null }
  const [low, high] = first < last ? [first, last] : [last, first]
  const from = least + (BigInt(low) << shift)
  const to = least + (BigInt(high + 1) << shift) - 1n
  const end = to < greatest ? to : greatest
  const numberOf = isWide ? floatOf : Number
  return { place, least: numberOf(from), greatest: numberOf(end), isComplement: false, byRank: ranks }
}
