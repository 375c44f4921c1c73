// Segment of a table: up to 8,192 rows as columns of codes, and bitmaps of rows.
import type { Kernel } from './kernel.ts'

/** No value, where codes are of 32 bits; NaN where they are floats. */
export const NO_CODE = -(2 ** 31)

const NARROW = 4
const WIDE = 8

/** Begin of a segment: no row in it has a lesser code, or the same code and a lesser id. */
export interface Bound {
  readonly code: number
  readonly id: number
}

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
  /** True if a row is or was without a value. */
  readonly hasNone: boolean[]
  /** The zone map: least and greatest code of each column (Moerkotte, "Small Materialized Aggregates", VLDB 1998). */
  private readonly leasts: Float64Array
  private readonly greatests: Float64Array

  /** `capacity`: of how many rows, a multiple of 64. `number`: its own in the table. @throws KernelFull */
  constructor(
    readonly kernel: Kernel,
    readonly capacity: number,
    columns: number,
    readonly number: number,
    readonly begin: Bound,
  ) {
    const bitmap = capacity / 8
    this.liveBits = kernel.reserve(3 * bitmap)
    this.matchBits = this.liveBits + bitmap
    this.workBits = this.matchBits + bitmap
    this.isWide = Array(columns).fill(false)
    this.hasNone = Array(columns).fill(false)
    this.leasts = new Float64Array(columns).fill(Number.POSITIVE_INFINITY)
    this.greatests = new Float64Array(columns).fill(Number.NEGATIVE_INFINITY)
    this.addresses = Array.from({ length: columns }, () => kernel.reserve(NARROW * capacity))
  }

  /** Bytes in use of each bitmap; 8 times as many rows are looked at. */
  get bitmapBytes(): number {
    return ((this.rows + 63) & ~63) / 8
  }

  get bytes(): number {
    if (this.isReleased) return 0
    return this.isWide.reduce((sum, isWide) => sum + (isWide ? WIDE : NARROW) * this.capacity, (3 * this.capacity) / 8)
  }

  /** @throws KernelFull */
  put(row: number, codes: Float64Array): void {
    const { words, floats } = this.kernel
    for (let column = 0; column < codes.length; column++) {
      const code = codes[column]
      if (!this.isWide[column] && !isNarrow(code)) this.widen(column)
      const address = this.addresses[column]
      if (this.isWide[column]) floats[(address >> 3) + row] = code
      else words[(address >> 2) + row] = Number.isNaN(code) ? NO_CODE : code
      this.bound(column, code)
    }
    if (!this.isLive(row)) {
      words[this.wordOf(row)] = words[this.wordOf(row)] | (1 << (row & 31))
      this.live++
    }
    if (row >= this.rows) this.rows = row + 1
  }

  remove(row: number): void {
    const { words } = this.kernel
    words[this.wordOf(row)] = words[this.wordOf(row)] & ~(1 << (row & 31))
    this.live--
  }

  isLive(row: number): boolean {
    return ((this.kernel.words[this.wordOf(row)] >>> (row & 31)) & 1) === 1
  }

  /** A row that is free; -1: there is none. */
  freeRow(): number {
    if (this.rows < this.capacity) return this.rows
    if (this.live === this.capacity) return -1
    const { words } = this.kernel
    let word = this.liveBits >> 2
    while (words[word] === -1) word++
    const free = ~words[word]
    return 32 * (word - (this.liveBits >> 2)) + 31 - Math.clz32(free & -free)
  }

  /** Learns between which codes the live rows lie, after others were removed. */
  tighten(): void {
    this.hasNone.fill(false)
    this.leasts.fill(Number.POSITIVE_INFINITY)
    this.greatests.fill(Number.NEGATIVE_INFINITY)
    for (let row = 0; row < this.rows; row++)
      if (this.isLive(row))
        for (let column = 0; column < this.addresses.length; column++) this.bound(column, this.codeAt(row, column))
  }

  /** No code of a column that is or was there is less; Infinity: there is none. */
  leastOf(column: number): number {
    return this.leasts[column]
  }

  /** Returns the greatest code of a column that is or was there; -Infinity: there is none. */
  greatestOf(column: number): number {
    return this.greatests[column]
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
        const base = (addresses[column] >> 3) - first
        for (let at = from; at < end; at++) into[at * columns + column] = floats[base + slots[at]]
      } else {
        const base = (addresses[column] >> 2) - first
        for (let at = from; at < end; at++) {
          const code = words[base + slots[at]]
          into[at * columns + column] = code === NO_CODE ? Number.NaN : code
        }
      }
    }
  }

  codeAt(row: number, column: number): number {
    const address = this.addresses[column]
    if (this.isWide[column]) return this.kernel.floats[(address >> 3) + row]
    const code = this.kernel.words[(address >> 2) + row]
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
    if (code < this.leasts[column]) this.leasts[column] = code
    if (code > this.greatests[column]) this.greatests[column] = code
  }

  private widen(column: number) {
    const from = this.addresses[column]
    const to = this.kernel.reserve(WIDE * this.capacity)
    this.kernel.wasm.widen(from, this.capacity, to)
    this.addresses[column] = to
    this.isWide[column] = true
    this.kernel.free(from, NARROW * this.capacity)
  }
}

function isNarrow(code: number): boolean {
  return Number.isNaN(code) || (code === (code | 0) && code !== NO_CODE)
}
