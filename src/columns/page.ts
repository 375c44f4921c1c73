import { ordinalOf } from './floats.ts'
import { type Kernel, SCRATCH_ROWS } from './kernel.ts'
import type { Matches } from './matches.ts'
import type { RankTable } from './rankTable.ts'
import { ROWS, type Segment } from './segment.ts'
import type { Slots } from './slots.ts'

/** One key of an order. */
export interface PageKey {
  readonly place: number
  readonly isDescending: boolean
  /** Of texts. */
  readonly ranks: RankTable | null
}

const BUCKETS = 4_096
/** Of rows without a value: they lie behind all others, where these ascend. */
const NONE = BUCKETS - 1
/** So many rows are sorted at once. */
const SORTED_MAX = SCRATCH_ROWS

/** Where rows fall into buckets: by which key, from which least ordinal on, and of what width, 2^shift. */
interface Cut {
  readonly level: number
  /** Whether ordinals are those of floats, as a column of the key has some. */
  readonly isWide: boolean
  readonly least: bigint
  readonly shift: bigint
}

/** Buckets next to each other in the order of the page. */
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
  constructor(
    private readonly kernel: Kernel,
    private readonly slots: Slots,
    private readonly keys: readonly PageKey[],
  ) {}

  find({ bits, total }: Matches, from: number, size: number): number[] {
    const found: number[] = []
    const end = Math.min(from + size, total)
    while (from + found.length < end) found.push(...this.next(bits, from + found.length, end))
    return found
  }

  /** Some rows from `from` on, one at least. */
  private next(matches: readonly number[], from: number, end: number): number[] {
    let bits = matches
    let skipped = 0
    for (let cut = this.cutOf(bits, 0); ; ) {
      const { isDescending } = this.keyAt(cut.level)
      const run = this.runOf(this.histogram(bits, cut), isDescending, from - skipped, end - skipped)
      skipped += run.before
      if (run.rows <= SORTED_MAX) return this.sorted(bits, cut, run).slice(from - skipped, end - skipped)
      const restricted = this.restrict(bits, cut, run.first)
      bits = restricted.bits
      const isOneValue = run.first === NONE || restricted.least === restricted.greatest
      cut = isOneValue
        ? this.cutOf(bits, cut.level + 1)
        : between(cut.level, cut.isWide, restricted.least, restricted.greatest)
    }
  }

  private keyAt(level: number): PageKey {
    return this.keys[level] as PageKey
  }

  /** The cut of all that the rows of some segments can have by a key. */
  private cutOf(bits: readonly number[], level: number): Cut {
    const { place, ranks } = this.keyAt(level)
    if (ranks) return between(level, false, BigInt(ranks.least), BigInt(ranks.greatest))
    let [least, greatest, isWide] = [Infinity, -Infinity, false]
    this.slots.segments.forEach((segment, index) => {
      if (bits[index] === 0) return
      least = Math.min(least, segment.least[place] as number)
      greatest = Math.max(greatest, segment.greatest[place] as number)
      isWide ||= segment.isWide[place] as boolean
    })
    if (least > greatest) return { level, isWide, least: 0n, shift: 0n }
    return isWide
      ? between(level, isWide, ordinalOf(least), ordinalOf(greatest))
      : between(level, isWide, BigInt(least), BigInt(greatest))
  }

  private histogram(bits: readonly number[], cut: Cut): Int32Array {
    const { words, calls, scratch } = this.kernel
    const shift = Number(cut.shift)
    words.fill(0, scratch.counts >> 2, (scratch.counts >> 2) + BUCKETS)
    this.each(bits, cut, (column, from, bytes) => {
      if (cut.isWide) calls.histogram64(column, from, bytes, cut.least, shift, scratch.counts)
      else calls.histogram32(column, from, bytes, Number(cut.least), shift, scratch.counts)
    })
    return words.subarray(scratch.counts >> 2, (scratch.counts >> 2) + BUCKETS)
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
        if (rows + (counts[next] as number) > SORTED_MAX) break
        rows += counts[next] as number
        last = next
      }
      return { first, last, rows, before }
    }
    throw new Error(`no row ${from} in the histogram`)
  }

  /** The rows of one bucket, with their least and greatest ordinals. */
  private restrict(bits: readonly number[], cut: Cut, bucket: number) {
    const { ordinals, calls, scratch } = this.kernel
    const shift = Number(cut.shift)
    const restricted = bits.map(() => 0)
    ordinals.set([ORDINAL_MAX, -ORDINAL_MAX], scratch.reach >> 3)
    this.each(bits, cut, (column, from, bytes, index) => {
      const to = (this.slots.segments[index] as Segment).workBits
      const rows = cut.isWide
        ? calls.restrict64(column, from, bytes, cut.least, shift, bucket, to, scratch.reach)
        : calls.restrict32(column, from, bytes, Number(cut.least), shift, bucket, to, scratch.reach)
      if (rows > 0) restricted[index] = to
    })
    const [least = 0n, greatest = 0n] = ordinals.subarray(scratch.reach >> 3)
    return { bits: restricted, least, greatest }
  }

  /** The rows of the buckets, in order. */
  private sorted(bits: readonly number[], cut: Cut, { first, last, rows }: Run): number[] {
    const { words, calls, scratch } = this.kernel
    const shift = Number(cut.shift)
    const [low, high] = first < last ? [first, last] : [last, first]
    let to = scratch.rows
    this.each(bits, cut, (column, from, bytes, index) => {
      to = cut.isWide
        ? calls.gather64(column, from, bytes, cut.least, shift, low, high, index * ROWS, to)
        : calls.gather32(column, from, bytes, Number(cut.least), shift, low, high, index * ROWS, to)
    })
    if (to - scratch.rows !== 4 * rows) throw new Error(`${(to - scratch.rows) / 4} rows where ${rows} were counted`)
    return this.sort([...words.subarray(scratch.rows >> 2, to >> 2)], cut.level)
  }

  /** By the keys from a level on; those before are equal. */
  private sort(slots: readonly number[], level: number): number[] {
    const keys = this.keys.slice(level).map((key) => ({
      isDescending: key.isDescending,
      values: Float64Array.from(slots, (slot) => this.valueOf(slot, key)),
    }))
    const order = Uint16Array.from(slots, (_, index) => index).sort((one, other) => {
      for (const { isDescending, values } of keys) {
        const [first, second] = [values[one] as number, values[other] as number]
        if (first === second) continue
        // Infinity and NaN: no value is greater than any.
        const order =
          first < second ? -1 : first > second ? 1 : Number(Number.isNaN(first)) - Number(Number.isNaN(second))
        if (order !== 0) return isDescending ? -order : order
      }
      return 0
    })
    return Array.from(order, (index) => slots[index] as number)
  }

  private valueOf(slot: number, { place, ranks }: PageKey): number {
    const code = this.slots.codeAt(slot, place)
    if (!ranks) return code
    return code === 0 ? Number.NaN : ranks.rankOf(code)
  }

  /** Of each segment that has rows, what a kernel function begins with: the column has the keys, ranks or floats if need be. */
  private each(
    bits: readonly number[],
    { level, isWide }: Cut,
    call: (column: number, bits: number, bytes: number, index: number) => void,
  ) {
    const { calls, scratch } = this.kernel
    const { place, ranks } = this.keyAt(level)
    this.slots.segments.forEach((segment, index) => {
      const [own, from, bytes] = [segment.columns[place] as number, bits[index] as number, segment.bitmapBytes]
      if (from === 0) return
      const isMade = ranks !== null || (isWide && !segment.isWide[place])
      if (ranks) calls.rank(own, from, bytes, ranks.address, scratch.column)
      else if (isMade) calls.widen(own, 8 * bytes, scratch.column)
      call(isMade ? scratch.column : own, from, bytes, index)
    })
  }
}

const ORDINAL_MAX = 2n ** 63n - 1n

/** Buckets from the least ordinal to the greatest, those of rows without a value not among them. */
function between(level: number, isWide: boolean, least: bigint, greatest: bigint): Cut {
  let shift = 0n
  while ((greatest - least) >> shift >= BigInt(NONE)) shift++
  return { level, isWide, least, shift }
}
