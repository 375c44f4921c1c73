import { ordinalOf } from './floats.ts'
import type { Kernel, KeyKind } from './kernel.ts'
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
const SORTED_MAX = 1_024

/** Where rows fall into buckets: by which key, from which least ordinal on, and of what width, 2^shift. */
interface Cut {
  readonly level: number
  readonly kind: KeyKind
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
  private readonly counts: number
  private readonly out: number

  /** `scratch`: the address of `SCRATCH` bytes. */
  constructor(
    private readonly kernel: Kernel,
    private readonly slots: Slots,
    private readonly keys: readonly PageKey[],
    scratch: number,
  ) {
    this.counts = scratch
    this.out = scratch + 4 * BUCKETS
  }

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
      const run = this.runOf(
        this.histogram(bits, cut),
        (this.keys[cut.level] as PageKey).isDescending,
        from - skipped,
        end - skipped,
      )
      skipped += run.before
      if (run.rows <= SORTED_MAX) return this.sorted(bits, cut, run).slice(from - skipped, end - skipped)
      bits = this.restrict(bits, cut, run.first)
      const isOneValue = run.first === NONE || cut.shift === 0n
      cut = isOneValue ? this.cutOf(bits, cut.level + 1) : finer(cut, run.first)
    }
  }

  /** The cut of all that the rows of some segments can have by a key. */
  private cutOf(bits: readonly number[], level: number): Cut {
    const { place, ranks } = this.keys[level] as PageKey
    if (ranks) return between({ level, kind: 1 }, BigInt(ranks.least), BigInt(ranks.greatest))
    let [least, greatest, isWide] = [Infinity, -Infinity, false]
    this.slots.segments.forEach((segment, index) => {
      if (bits[index] === 0) return
      least = Math.min(least, segment.least[place] as number)
      greatest = Math.max(greatest, segment.greatest[place] as number)
      isWide ||= segment.isWide[place] as boolean
    })
    if (least > greatest) return { level, kind: isWide ? 2 : 0, least: 0n, shift: 0n }
    if (isWide) return between({ level, kind: 2 }, ordinalOf(least), ordinalOf(greatest))
    return between({ level, kind: 0 }, BigInt(least), BigInt(greatest))
  }

  private histogram(bits: readonly number[], cut: Cut): Int32Array {
    const { kernel, counts } = this
    const from = counts >> 2
    kernel.words.fill(0, from, from + BUCKETS)
    this.each(bits, cut, (column, address, bytes, kind, ranks) => {
      kernel.calls.histogram(column, address, bytes, kind, ranks, cut.least, cut.shift, counts)
    })
    return kernel.words.subarray(from, from + BUCKETS)
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

  private restrict(bits: readonly number[], cut: Cut, bucket: number): number[] {
    const { kernel, slots } = this
    const restricted = bits.map(() => 0)
    this.each(bits, cut, (column, from, bytes, kind, ranks, index) => {
      const to = (slots.segments[index] as Segment).workBits
      const { least, shift } = cut
      const rows = kernel.calls.restrict(column, from, to, bytes, kind, ranks, least, shift, bucket)
      if (rows > 0) restricted[index] = to
    })
    return restricted
  }

  /** The rows of the buckets, in order. */
  private sorted(bits: readonly number[], cut: Cut, { first, last, rows }: Run): number[] {
    const { kernel, out } = this
    const [low, high] = [Math.min(first, last), Math.max(first, last)]
    let to = out
    this.each(bits, cut, (column, address, bytes, kind, ranks, index) => {
      const { least, shift } = cut
      to = kernel.calls.gather(column, address, bytes, kind, ranks, least, shift, low, high, index * ROWS, to)
    })
    if (to - out !== 4 * rows) throw new Error(`${(to - out) / 4} rows where ${rows} were counted`)
    return this.sort([...kernel.words.subarray(out >> 2, to >> 2)], cut.level)
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

  /** Of each segment that has rows, what a kernel function begins with. */
  private each(
    bits: readonly number[],
    { level, kind }: Cut,
    call: (column: number, bits: number, bytes: number, kind: KeyKind, ranks: number, index: number) => void,
  ) {
    const { place, ranks } = this.keys[level] as PageKey
    this.slots.segments.forEach((segment, index) => {
      const address = bits[index] as number
      if (address === 0) return
      const own = kind === 2 && segment.isWide[place] ? 3 : kind
      call(segment.columns[place] as number, address, segment.bitmapBytes, own, ranks?.address ?? 0, index)
    })
  }
}

/** Bytes for counts and for the rows to be sorted. */
export const SCRATCH = 4 * BUCKETS + 4 * SORTED_MAX

function finer({ level, kind, least, shift }: Cut, bucket: number): Cut {
  const from = least + (BigInt(bucket) << shift)
  return between({ level, kind }, from, from + (1n << shift) - 1n)
}

/** Buckets from the least ordinal to the greatest, those of rows without a value not among them. */
function between(cut: Pick<Cut, 'level' | 'kind'>, least: bigint, greatest: bigint): Cut {
  let shift = 0n
  while ((greatest - least) >> shift >= BigInt(NONE)) shift++
  return { ...cut, least, shift }
}
