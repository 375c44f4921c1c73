// Segment of a table: up to 8,192 rows as columns of codes, bitmaps of rows, and zone maps of all segments.
import type { Kernel } from './kernel.ts'

/** No value, where codes are of 32 bits; NaN where they are floats. */
export const NO_CODE = -(2 ** 31)

const NARROW = 4
const WIDE = 8

/** Columns have codes of 32 bits until one does not fit, then floats. A row is live until it is removed; its codes stay. */
export class Segment {
  /** Rows that are or were there; new ones come behind them. */
  rows = 0
  live = 0
  private isReleased = false
  /** Bitmaps: which rows are live; two for those that a list selects. */
  readonly liveBits: number
  readonly matchBits: number
  readonly workBits: number
  /** The addresses of the columns. */
  readonly addresses: number[]
  readonly isWide: boolean[]
  /** True if a row is or was without a value; false for texts, which have a code for that. */
  readonly hasNone: boolean[]

  /** `capacity`: of how many rows, a multiple of 64. `number`: its own in `zones`. @throws KernelFull */
  constructor(
    private readonly kernel: Kernel,
    readonly capacity: number,
    private readonly zones: Zones,
    private readonly number: number,
  ) {
    const bitmap = capacity / 8
    this.liveBits = kernel.reserve(3 * bitmap)
    this.matchBits = this.liveBits + bitmap
    this.workBits = this.matchBits + bitmap
    this.isWide = zones.least.map(() => false)
    this.hasNone = zones.least.map(() => false)
    this.addresses = zones.least.map(() => kernel.reserve(NARROW * capacity))
  }

  /** Bytes in use of each bitmap; 8 times as many rows are looked at. */
  get bitmapBytes(): number {
    return ((this.rows + 63) & ~63) / 8
  }

  get bytes(): number {
    if (this.isReleased) return 0
    return this.isWide.reduce((sum, isWide) => sum + (isWide ? WIDE : NARROW) * this.capacity, (3 * this.capacity) / 8)
  }

  /** @throws KernelFull; the row is then as it was. */
  put(row: number, codes: Float64Array): void {
    for (let column = 0; column < codes.length; column++)
      if (!this.isWide[column] && !isNarrow(codes[column] as number)) this.widen(column)
    const { words, floats } = this.kernel
    for (let column = 0; column < codes.length; column++) {
      const code = codes[column] as number
      const address = this.addresses[column] as number
      if (this.isWide[column]) floats[(address >> 3) + row] = code
      else words[(address >> 2) + row] = Number.isNaN(code) ? NO_CODE : code
      this.bound(column, code)
    }
    if (!this.isLive(row)) {
      words[this.wordOf(row)] = (words[this.wordOf(row)] as number) | (1 << (row & 31))
      this.live++
    }
    if (row >= this.rows) this.rows = row + 1
  }

  remove(row: number): void {
    const { words } = this.kernel
    words[this.wordOf(row)] = (words[this.wordOf(row)] as number) & ~(1 << (row & 31))
    this.live--
  }

  isLive(row: number): boolean {
    return (((this.kernel.words[this.wordOf(row)] as number) >>> (row & 31)) & 1) === 1
  }

  /** A row that is free; -1: there is none. */
  freeRow(): number {
    if (this.rows < this.capacity) return this.rows
    if (this.live === this.capacity) return -1
    const { words } = this.kernel
    let word = this.liveBits >> 2
    while (words[word] === -1) word++
    const free = ~(words[word] as number)
    return 32 * (word - (this.liveBits >> 2)) + 31 - Math.clz32(free & -free)
  }

  /** Learns between which codes the live rows lie, after others were removed. */
  tighten(): void {
    this.zones.clear(this.number)
    this.hasNone.fill(false)
    for (let row = 0; row < this.rows; row++)
      if (this.isLive(row))
        for (let column = 0; column < this.addresses.length; column++) this.bound(column, this.codeAt(row, column))
  }

  /** No code of a column that is or was there is less. */
  leastOf(column: number): number {
    return (this.zones.least[column] as Float64Array)[this.number] as number
  }

  /** Returns the greatest code of a column that is or was there. */
  greatestOf(column: number): number {
    return (this.zones.greatest[column] as Float64Array)[this.number] as number
  }

  /** Reads all codes of a row. */
  read(row: number, into: Float64Array): void {
    for (let column = 0; column < this.addresses.length; column++) into[column] = this.codeAt(row, column)
  }

  /**
   * Reads all codes of the rows `slots[from, end)`, of which the segment's first is `first`, each to its position in `into`.
   * Column by column: nearly every code has to come from memory by itself, and so many of them come at once.
   */
  readAll(slots: readonly number[], first: number, from: number, end: number, into: Float64Array): void {
    const { addresses } = this
    const { words, floats } = this.kernel
    const columns = addresses.length
    for (let column = 0; column < columns; column++) {
      if (this.isWide[column]) {
        const base = ((addresses[column] as number) >> 3) - first
        for (let at = from; at < end; at++) into[at * columns + column] = floats[base + (slots[at] as number)] as number
      } else {
        const base = ((addresses[column] as number) >> 2) - first
        for (let at = from; at < end; at++) {
          const code = words[base + (slots[at] as number)] as number
          into[at * columns + column] = code === NO_CODE ? Number.NaN : code
        }
      }
    }
  }

  codeAt(row: number, column: number): number {
    const address = this.addresses[column] as number
    if (this.isWide[column]) return this.kernel.floats[(address >> 3) + row] as number
    const code = this.kernel.words[(address >> 2) + row] as number
    return code === NO_CODE ? Number.NaN : code
  }

  /** Gives its memory back; it is then without rows for good. */
  release(): void {
    this.isReleased = true
    this.kernel.free(this.liveBits, (3 * this.capacity) / 8)
    for (const [column, address] of this.addresses.entries())
      this.kernel.free(address, (this.isWide[column] ? WIDE : NARROW) * this.capacity)
  }

  private wordOf(row: number): number {
    return (this.liveBits >> 2) + (row >> 5)
  }

  private bound(column: number, code: number) {
    if (Number.isNaN(code)) this.hasNone[column] = true
    else this.zones.take(this.number, column, code)
  }

  private widen(column: number) {
    const from = this.addresses[column] as number
    const to = this.kernel.reserve(WIDE * this.capacity)
    this.kernel.calls.widen(from, this.capacity, to)
    this.addresses[column] = to
    this.isWide[column] = true
    this.kernel.free(from, NARROW * this.capacity)
  }
}

function isNarrow(code: number): boolean {
  return Number.isNaN(code) || (code === (code | 0) && code !== NO_CODE)
}

const CAPACITY = 16

/**
 * Least and greatest code of each column in each segment: a zone map (Moerkotte, "Small Materialized Aggregates", VLDB 1998).
 * Stored by column, then by segment, so that a look at hundreds of segments reads two arrays.
 */
export class Zones {
  /** No code that is or was there is less, or greater; +Infinity and -Infinity where there is none. */
  readonly least: Float64Array[]
  readonly greatest: Float64Array[]

  constructor(columns: number) {
    this.least = Array.from({ length: columns }, () => new Float64Array(CAPACITY).fill(Number.POSITIVE_INFINITY))
    this.greatest = Array.from({ length: columns }, () => new Float64Array(CAPACITY).fill(Number.NEGATIVE_INFINITY))
  }

  /** Has room for a segment of this number from now on. */
  open(segment: number): void {
    if (segment < (this.least[0] as Float64Array).length) return
    for (let column = 0; column < this.least.length; column++) {
      this.least[column] = widened(this.least[column] as Float64Array, Number.POSITIVE_INFINITY)
      this.greatest[column] = widened(this.greatest[column] as Float64Array, Number.NEGATIVE_INFINITY)
    }
  }

  /** Forgets the codes of a segment. */
  clear(segment: number): void {
    for (const least of this.least) least[segment] = Number.POSITIVE_INFINITY
    for (const greatest of this.greatest) greatest[segment] = Number.NEGATIVE_INFINITY
  }

  /** A row of the segment has this code. */
  take(segment: number, column: number, code: number): void {
    const least = this.least[column] as Float64Array
    const greatest = this.greatest[column] as Float64Array
    if (code < (least[segment] as number)) least[segment] = code
    if (code > (greatest[segment] as number)) greatest[segment] = code
  }
}

function widened(numbers: Float64Array, rest: number): Float64Array {
  const wider = new Float64Array(2 * numbers.length).fill(rest, numbers.length)
  wider.set(numbers)
  return wider
}
