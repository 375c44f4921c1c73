// Texts in the order of a collation. Ranks have gaps, so that a new text can get a rank between two existing ranks.
import { firstNotBefore } from './bisect.ts'
import { EMPTY_TEXT } from './dictionary.ts'

/** Texts of a property by their codes: 1 is the empty text, and 0 means no value. The text of a code never changes. */
export interface Texts {
  /** Number that is one more than the greatest code. */
  readonly size: number
  text(code: number): string
  /** Returns the code of a text; null if the text has no code. */
  find(text: string): number | null
}

/** Maximum number of texts for which a property is ordered. */
export const TEXTS_MAX = 4_000_000
/** Number that is one more than the greatest possible rank. */
export const RANK_END = 0xffff_ffff
/** Number of texts that get new ranks on each side of a full gap. If there is still no room, the number is doubled. */
const SIDE_TEXTS = 16

/** Number of texts that one step compares. */
const STEP_TEXTS = 16_384

/**
 * New codes in ascending order of their texts, and a position for each code. The code is inserted before the text that is at this
 * position now.
 */
export interface Insertion {
  readonly added: ArrayLike<number>
  readonly positions: ArrayLike<number>
}

/** Codes of texts in order, and the ranks of texts. Two texts never change their order. */
export class TextOrder {
  /** Codes in ascending order of their texts. The empty text is the first in each collation. */
  private codes = new Int32Array(1 << 5)
  private count = 1
  private byCode = new Uint32Array(1 << 5)

  /** `rankEnd`: exclusive bound of ranks. */
  constructor(private readonly rankEnd: number) {
    this.codes[0] = EMPTY_TEXT
    this.respace(0, 1)
  }

  /** Number of texts with a rank. */
  get size(): number {
    return this.count
  }

  /** Ranks by code, from code 1 on; 0 if the text has no rank. */
  get ranks(): Uint32Array {
    return this.byCode
  }

  get bytes(): number {
    return this.codes.byteLength + this.byCode.byteLength
  }

  /** Returns the code at a position; 0 if the position is not from 0 to `size` - 1. */
  codeAt(position: number): number {
    return position >= 0 && position < this.count ? this.codes[position] : 0
  }

  /** Returns the position of a text, which must have a rank. */
  positionOf(code: number): number {
    const rank = this.byCode[code]
    return firstNotBefore(0, this.count, (position) => this.byCode[this.codes[position]] < rank)
  }

  /** Extends `ranks` to an entry for each code below `size`. */
  cover(size: number): void {
    if (size <= this.byCode.length) return
    const wider = new Uint32Array(Math.max(size, Math.ceil(1.5 * this.byCode.length)))
    wider.set(this.byCode)
    this.byCode = wider
  }

  /** Inserts texts. Returns whether existing texts also got new ranks, because a gap was full. */
  insert({ added, positions }: Insertion): boolean {
    this.widen(this.count + added.length)
    const { codes } = this
    let read = this.count
    let write = this.count + added.length
    this.count = write
    for (let index = added.length - 1; index >= 0; index--) {
      const position = positions[index]
      if (position < read) {
        write -= read - position
        codes.copyWithin(write, position, read)
        read = position
      }
      codes[--write] = added[index]
    }
    let hasSpread = false
    for (let first = 0, end = 0; first < added.length; first = end) {
      while (end < added.length && positions[end] === positions[first]) end++
      // These texts may already have ranks from the spread of another full gap.
      if (this.byCode[added[first]] === 0) hasSpread = this.fill(positions[first] + first, positions[first] + end) || hasSpread
    }
    return hasSpread
  }

  /**
   * Finds the positions, for `insert`, of the texts in `sorted` that have no rank in this order. Yields from time to time. Leaves
   * out a text if this order has further texts in the text's gap that `sorted` lacks, because the text was not compared with
   * them.
   */
  *findPositions(sorted: Int32Array): Generator<void, Insertion> {
    const added = new Int32Array(sorted.length)
    const positions = new Int32Array(sorted.length)
    let length = 0
    // The texts of `sorted` from `first` up to `index`, exclusive, have no rank in this order. The text at `index` has one,
    // unless `index` is the end.
    let first = 0
    let position = 0
    for (let index = 0; index <= sorted.length; index++) {
      if (index % STEP_TEXTS === 0) yield
      const isEnd = index === sorted.length
      if (!isEnd && this.byCode[sorted[index]] === 0) continue
      const from = position
      while (position < this.count && (isEnd || this.codes[position] !== sorted[index])) {
        if (++position % STEP_TEXTS === 0) yield
      }
      if (!isEnd && position === this.count) throw new Error('the order of texts is another than before')
      if (position === from && first < index) {
        added.set(sorted.subarray(first, index), length)
        positions.fill(position, length, (length += index - first))
      }
      first = index + 1
      position++
    }
    return { added: added.subarray(0, length), positions: positions.subarray(0, length) }
  }

  /**
   * Gives ranks to the texts at these positions, which have no ranks. Returns true if their gap was too small, so texts around
   * them got new ranks, too.
   */
  private fill(from: number, to: number): boolean {
    if (this.spaceOf(from, to) >= 1) {
      this.respace(from, to)
      return false
    }
    // The new ranks are at most twice as dense as the average, so that gaps are not soon full again. A text without a rank has 0,
    // which leaves no space before it, so the range grows until it includes this text.
    const spaceMin = Math.max(1, this.rankEnd / (this.count + 1) / 2)
    let first = from
    let end = to
    for (let texts = SIDE_TEXTS; this.spaceOf(first, end) < spaceMin; texts *= 2) {
      first = Math.max(0, first - texts)
      end = Math.min(this.count, end + texts)
    }
    this.respace(first, end)
    return true
  }

  /** Spaces the ranks of these positions evenly between the ranks of their neighbors. */
  private respace(from: number, to: number): void {
    const { codes, byCode } = this
    const low = this.lowOf(from)
    const space = this.spaceOf(from, to)
    for (let position = from; position < to; position++) byCode[codes[position]] = low + Math.floor(space * (position - from + 1))
  }

  /** Returns the distance between the ranks of these positions if they are spaced evenly. */
  private spaceOf(from: number, to: number): number {
    const high = to === this.count ? this.rankEnd : this.byCode[this.codes[to]]
    return (high - this.lowOf(from)) / (to - from + 1)
  }

  private lowOf(position: number): number {
    return position === 0 ? 0 : this.byCode[this.codes[position - 1]]
  }

  private widen(count: number): void {
    if (count <= this.codes.length) return
    const wider = new Int32Array(Math.ceil(1.5 * count))
    wider.set(this.codes)
    this.codes = wider
  }
}
