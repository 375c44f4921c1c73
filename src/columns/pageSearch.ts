// Search for one page among the matches: walks the index of ids, or narrows the rows down by buckets and sorts the rest.
import type { Condition } from './conditions.ts'
import { type Cut, cutBetween, NONE, type Run, rangeOf } from './cut.ts'
import { BUCKETS, SEGMENT_ROWS } from './kernel.ts'
import { type Matches, restrict } from './matches.ts'
import { type PageKey, sortSlots } from './pageKeys.ts'
import { ID, type RowStore } from './rowStore.ts'

/** Minimum rows that are sorted at once, besides twice the page's: more are divided into buckets first. */
const SORTED_MIN = 128
/** To put as many rows that match into buckets takes about as long as to look at one row of the index of ids. */
const WALK_WORTH = 2
/** Minimum share of matches for a walk, one row in so many: the ids of fewer often lie together, far from either end. */
const SELECTIVE = 8

/**
 * Finds the buckets of the first key that have the page, and sorts their rows. While those are too many, it cuts a bucket into
 * finer ones or, if that has one value, by the next key. So the cost grows with the rows that match, not with `from`.
 */
export class PageSearch {
  /** Maximum rows that are sorted at once. */
  private readonly sortedMax: number

  constructor(
    private readonly rows: RowStore,
    private readonly keys: readonly PageKey[],
    /** Conditions that all matches meet. */
    private readonly conditions: readonly Condition[],
    /** Rows of a page. */
    size: number,
  ) {
    this.sortedMax = Math.min(SEGMENT_ROWS, Math.max(SORTED_MIN, 2 * size))
  }

  /** Slots of the rows [from, end) of the matches in the order of the keys, the last of which is the id. */
  find(matches: Matches, from: number, end: number): number[] {
    return this.findById(matches, from, end) ?? this.findInBuckets(matches, from, end)
  }

  /** By the index of ids, from the nearer end; null: another key comes first, or that would take longer. */
  private findById(matches: Matches, from: number, end: number): number[] | null {
    const { rows } = this
    const { column, isDescending } = this.keys[0]
    const { total } = matches
    if (column !== ID || rows.column === ID) return null
    const isFromEnd = total - end < from
    const range = isFromEnd ? { from: total - end, end: total - from } : { from, end }
    const rowsMax = total / WALK_WORTH
    if (SELECTIVE * total < rows.rows || (total < rows.rows && (range.end * rows.rows) / total > rowsMax)) return null
    const isWanted = total === rows.rows ? null : wantedIn(rows, matches)
    const found = rows.ids.take(isWanted, { ...range, isDescending: isDescending !== isFromEnd }, rowsMax)
    return isFromEnd ? (found?.reverse() ?? null) : found
  }

  private findInBuckets(matches: Matches, from: number, end: number): number[] {
    const found: number[] = []
    while (from + found.length < end) {
      const next = this.next(matches, from + found.length, end)
      if (next.length === 0) throw new Error(`no row ${from + found.length} of ${matches.total}`)
      found.push(...next)
    }
    return found
  }

  /** Some rows from `from` on, one at least. */
  private next(matches: Matches, from: number, end: number): number[] {
    let skipped = 0
    let rows = matches
    let cut = this.cutOf(rows, 0)
    while (rows.total > this.sortedMax) {
      const run = this.runOf(this.histogram(rows, cut), cut.key.isDescending, from - skipped, end - skipped)
      skipped += run.before
      rows = restrict(rows, rangeOf(cut, run))
      if (rows.total !== run.rows) throw new Error(`${rows.total} rows where ${run.rows} were counted`)
      // All of them have the same value, or none.
      const isOne = cut.shift === 0 || run.first === NONE
      if (rows.total > this.sortedMax) cut = isOne ? this.cutOf(rows, cut.level + 1) : this.finer(rows, cut)
    }
    return Array.from(this.sorted(rows).subarray(from - skipped, end - skipped))
  }

  /** The cut of all that rows can have by a key. */
  private cutOf({ segments }: Matches, level: number): Cut {
    const key = this.keys[level]
    const { column, ranks } = key
    let [least, greatest, isWide] = ranks ? [0, ranks.greatest, false] : [Infinity, -Infinity, false]
    for (const segment of ranks ? [] : segments) {
      least = Math.min(least, segment.leastOf(column))
      greatest = Math.max(greatest, segment.greatestOf(column))
      isWide ||= segment.isWide[column]
    }
    for (const condition of this.conditions) {
      if (condition.column !== column || condition.isComplement || condition.byRank !== ranks) continue
      least = Math.max(least, isWide ? condition.least : Math.ceil(condition.least))
      greatest = Math.min(greatest, isWide ? condition.greatest : Math.floor(condition.greatest))
    }
    if (least > greatest) [least, greatest] = [0, 0]
    return cutBetween(level, key, isWide, least, greatest)
  }

  /** The cut of rows that fell into one bucket: by the same key, or, where that is one value, by the next. */
  private finer(rows: Matches, cut: Cut): Cut {
    const { words, floats, wasm, scratch } = this.rows.kernel
    const { level, key, isWide } = cut
    let [least, greatest] = [Infinity, -Infinity]
    this.each(rows, cut, (column, bits, bytes) => {
      const end = wasm.gather(bits, bytes, 0, scratch.selected) >> 2
      const [codes, first] = isWide ? [floats, column >> 3] : [words, column >> 2]
      for (let at = scratch.selected >> 2; at < end; at++) {
        const code = codes[first + words[at]]
        if (code < least) least = code
        if (code > greatest) greatest = code
      }
    })
    return least === greatest ? this.cutOf(rows, level + 1) : cutBetween(level, key, isWide, least, greatest)
  }

  /** How many rows lie in each bucket; it holds until the next call. */
  private histogram(rows: Matches, cut: Cut): Int32Array {
    const { counts, wasm, scratch } = this.rows.kernel
    const { least, leastOrdinal, shift } = cut
    counts.fill(0)
    this.each(rows, cut, (column, bits, bytes) => {
      if (cut.isWide) wasm.histogram64(column, bits, bytes, leastOrdinal, shift, scratch.counts)
      else wasm.histogram32(column, bits, bytes, least, shift, scratch.counts)
    })
    return counts
  }

  /** The buckets in which the rows [from, end) lie; not all of them, if that were too many rows to sort. */
  private runOf(counts: Int32Array, isDescending: boolean, from: number, end: number): Run {
    let before = 0
    for (let at = 0; at < BUCKETS; at++) {
      const first = isDescending ? BUCKETS - 1 - at : at
      let rows = counts[first]
      if (from >= before + rows) {
        before += rows
        continue
      }
      let last = first
      while (++at < BUCKETS && before + rows < end) {
        const next = isDescending ? BUCKETS - 1 - at : at
        if (first === NONE || next === NONE || rows + counts[next] > this.sortedMax) break
        rows += counts[next]
        last = next
      }
      return { first, last, rows, before }
    }
    throw new Error(`no row ${from} in the histogram`)
  }

  /** The slots of rows, in order. */
  private sorted({ segments, bits }: Matches): Int32Array {
    const { words, wasm, scratch } = this.rows.kernel
    const { rows } = this
    let to = scratch.selected
    for (let at = 0; at < segments.length; at++) {
      const { bitmapBytes, number } = segments[at]
      to = wasm.gather(bits[at], bitmapBytes, number * rows.segmentRows, to)
    }
    return sortSlots(words.slice(scratch.selected >> 2, to >> 2), this.keys, rows)
  }

  /** Calls back for each segment with its column of keys, converted if its own is of another form, and its rows. */
  private each(
    { segments, bits }: Matches,
    { key: { column, ranks }, isWide }: Cut,
    call: (column: number, bits: number, bytes: number) => void,
  ) {
    const { wasm, scratch } = this.rows.kernel
    for (let at = 0; at < segments.length; at++) {
      const segment = segments[at]
      const own = segment.addresses[column]
      const from = bits[at]
      const bytes = segment.bitmapBytes
      const isMade = ranks !== null || (isWide && !segment.isWide[column])
      if (ranks) wasm.rank(own, from, bytes, ranks.address, scratch.column)
      else if (isMade) wasm.widen(own, 8 * bytes, scratch.column)
      call(isMade ? scratch.column : own, from, bytes)
    }
  }
}

/** Returns whether the row of a slot is among the matches. */
function wantedIn({ kernel: { words }, segments, segmentRows }: RowStore, matches: Matches): (slot: number) => boolean {
  const addresses = new Int32Array(segments.length)
  for (const [index, { number }] of matches.segments.entries()) addresses[number] = matches.bits[index] >> 2
  return (slot) => {
    const address = addresses[(slot / segmentRows) | 0]
    const row = slot % segmentRows
    return address !== 0 && ((words[address + (row >> 5)] >>> (row & 31)) & 1) === 1
  }
}
