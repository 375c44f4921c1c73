import type { Kernel } from './kernel.ts'
import type { Zones } from './zones.ts'

/** No value, where codes are of 32 bits; NaN where they are floats. */
export const NO_CODE = -(2 ** 31)

const NARROW = 4
const WIDE = 8

/**
 * Rows in columns of codes, one for each property: of 32 bits, until one does not fit; from then on, of floats. A row is live
 * until it is removed; its codes stay.
 */
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
  readonly columns: number[]
  readonly isWide: boolean[]
  /** Whether a row is or was without a value; never of texts, whose codes have a number for that. */
  readonly hasNone: boolean[]

  /** `capacity`: of how many rows, a multiple of 64. `number`: its own in `zones`. @throws KernelFull */
  constructor(
    private readonly kernel: Kernel,
    private readonly hasTexts: readonly boolean[],
    readonly capacity: number,
    private readonly zones: Zones,
    private readonly number: number,
  ) {
    const bitmap = capacity / 8
    this.liveBits = kernel.reserve(3 * bitmap)
    this.matchBits = this.liveBits + bitmap
    this.workBits = this.matchBits + bitmap
    this.columns = []
    this.isWide = hasTexts.map(() => false)
    this.hasNone = hasTexts.map(() => false)
    try {
      for (const _ of hasTexts) this.columns.push(kernel.reserve(NARROW * capacity))
    } catch (error) {
      this.release()
      throw error
    }
  }

  /** So many bytes of its bitmaps are in use, and 8 times so many rows are looked at. */
  get bitmapBytes(): number {
    return ((this.rows + 63) & ~63) / 8
  }

  get bytes(): number {
    if (this.isReleased) return 0
    return this.isWide.reduce((sum, isWide) => sum + (isWide ? WIDE : NARROW) * this.capacity, (3 * this.capacity) / 8)
  }

  /** @throws KernelFull; the row is then as it was. */
  put(row: number, codes: Float64Array): void {
    for (let place = 0; place < codes.length; place++)
      if (!this.isWide[place] && !isNarrow(codes[place] as number)) this.widen(place)
    const { words, floats } = this.kernel
    for (let place = 0; place < codes.length; place++) {
      const code = codes[place] as number
      const column = this.columns[place] as number
      if (this.isWide[place]) floats[(column >> 3) + row] = code
      else words[(column >> 2) + row] = Number.isNaN(code) ? NO_CODE : code
      this.bound(place, code)
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

  /** No code of a column that is or was there is less. */
  leastOf(place: number): number {
    return (this.zones.least[place] as Float64Array)[this.number] as number
  }

  /** The same of greater ones. */
  greatestOf(place: number): number {
    return (this.zones.greatest[place] as Float64Array)[this.number] as number
  }

  /** Reads all codes of a row, to where `at` is. */
  read(row: number, into: Float64Array, at: number): void {
    const { words, floats } = this.kernel
    for (let place = 0; place < this.columns.length; place++) {
      const column = this.columns[place] as number
      if (this.isWide[place]) into[at + place] = floats[(column >> 3) + row] as number
      else {
        const code = words[(column >> 2) + row] as number
        into[at + place] = code === NO_CODE && !this.hasTexts[place] ? Number.NaN : code
      }
    }
  }

  /**
   * Reads all codes of the rows `slots[from, end)`, of which the segment's first is `first`, each to its place in `into`. Column by
   * column: nearly every code has to come from memory by itself, and so many of them come at once.
   */
  readAll(slots: readonly number[], first: number, from: number, end: number, into: Float64Array): void {
    const { columns, hasTexts } = this
    const { words, floats } = this.kernel
    const places = columns.length
    for (let place = 0; place < places; place++) {
      const none = hasTexts[place] ? NO_CODE : Number.NaN
      if (this.isWide[place]) {
        const base = ((columns[place] as number) >> 3) - first
        for (let at = from; at < end; at++) into[at * places + place] = floats[base + (slots[at] as number)] as number
      } else {
        const base = ((columns[place] as number) >> 2) - first
        for (let at = from; at < end; at++) {
          const code = words[base + (slots[at] as number)] as number
          into[at * places + place] = code === NO_CODE ? none : code
        }
      }
    }
  }

  codeAt(row: number, place: number): number {
    const column = this.columns[place] as number
    if (this.isWide[place]) return this.kernel.floats[(column >> 3) + row] as number
    const code = this.kernel.words[(column >> 2) + row] as number
    return code === NO_CODE && !this.hasTexts[place] ? Number.NaN : code
  }

  /** Gives its memory back; it is then without rows for good. */
  release(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.kernel.free(this.liveBits, (3 * this.capacity) / 8)
    this.columns.forEach((column, place) => {
      this.kernel.free(column, (this.isWide[place] ? WIDE : NARROW) * this.capacity)
    })
  }

  private wordOf(row: number): number {
    return (this.liveBits >> 2) + (row >> 5)
  }

  private bound(place: number, code: number) {
    if (Number.isNaN(code)) this.hasNone[place] = true
    else this.zones.take(this.number, place, code)
  }

  private widen(place: number) {
    const from = this.columns[place] as number
    const to = this.kernel.reserve(WIDE * this.capacity)
    this.kernel.calls.widen(from, this.capacity, to)
    this.columns[place] = to
    this.isWide[place] = true
    this.kernel.free(from, NARROW * this.capacity)
  }
}

function isNarrow(code: number): boolean {
  return Number.isNaN(code) || (code === (code | 0) && code !== NO_CODE)
}
