// Writes the bitmap of the rows that meet a condition: from checkpoints of an index, from slots of an index, or by a pass over
// all codes of a column. Also writes sets of ids.
import type { Bound } from './checkpoints.ts'
import { type Code, halvesTo, NO_CODE } from './codes.ts'
import { AFTER_IDS, BEFORE_IDS, compareTargets, type Ranks } from './columnOrder.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import type { ColumnCondition } from './conditions.ts'
import { type IdRange, IdSet, type Ids } from './idSet.ts'
import type { Indexes } from './indexes.ts'
import type { SortedIndex } from './sortedIndex.ts'

/**
 * Minimum number of texts for which a property gets an index by code. With fewer texts, each text has so many rows that a scan of
 * the column takes no longer than the index.
 */
const TEXTS_MIN = 256
/**
 * Maximum number of texts in a condition for which the rows of each text are read from an index. With more texts, all rows are
 * tested instead.
 */
const SLICES_MAX = 256
/** Minimum size of the buffer `marks`, in bytes. */
const MARKS_BYTES_MIN = 4_096
/** Cost of finding the rows of one id by the index. Unit: the cost of looking up one row in a set of ids. */
const SCANNED_SLICE = 1_280
/** Cost of flipping one bit. Unit: the cost of comparing one code in a scan. */
const SCANNED_ROWS = 8

/** Rows of a condition that are consecutive in an index, from the bound `from` to the bound `to`. */
export interface Slice {
  readonly index: SortedIndex
  readonly from: Bound
  readonly to: Bound
  readonly count: number
}

/** Address of a bitmap, and the number of rows in the bitmap. */
export interface Rows {
  readonly bits: number
  readonly count: number
}

export class BitmapWriter {
  /** Address of the buffer that holds a byte for each text, or a bit for each id. */
  private marks = 0
  /** Size of the buffer `marks`, in bytes. */
  private marksBytes = 0

  constructor(
    private readonly store: ColumnStore,
    private readonly indexes: Indexes,
    private readonly ranksOf: (column: number) => Ranks | null,
    /** Returns one more than the greatest code of a column's texts; null if the column has no texts. */
    private readonly textCodesEnd: (column: number) => number | null,
  ) {}

  /**
   * Writes the bitmap of a condition to an address. Returns null if the condition needs an index that is missing. @throws
   * KernelFull; IndexMissing
   */
  make(condition: ColumnCondition, to: number): Rows | null {
    const { store } = this
    const { kernel, liveBits, bitmapBytes } = store
    if (condition.referred !== null) this.makeReferring(condition.column, condition.referred.ids(), to)
    else if (condition.among === null) this.makeRange(condition, to)
    else if (!this.makeAmong(condition, condition.among, to)) return null
    const combine = condition.isComplement ? kernel.wasm.andNot : kernel.wasm.and
    return { bits: to, count: combine(liveBits, to, to, bitmapBytes) }
  }

  private makeRange(condition: ColumnCondition, to: number) {
    const { column, by, least, greatest } = condition
    const { store } = this
    const { kernel, slotsInUse, bitmapBytes } = store
    const index = this.indexFor(condition)
    if (index !== null) {
      const { from, to: end } = sliceBetween(index, least, greatest)
      if (index.checkpoints.costBetween(from, end) * SCANNED_ROWS <= store.slots || by === 'ranks')
        return index.checkpoints.writeBetween(from, end, to)
    }
    const address = store.addressOf(column)
    if (by === 'ranks') {
      const { ranks } = this.ranksOf(column) as Ranks
      // Code 0 means that a row has no value.
      const isMarked = (code: number) => code > 0 && ranks[code] >= least && ranks[code] <= greatest
      return this.writeMarked(address, isMarked, this.textCodesEnd(column) ?? 0, to)
    }
    const [low, high] = store.isWide(column) ? [bigOf(least), bigOf(greatest)] : [narrowLeast(least), narrowGreatest(greatest)]
    if (low > high) kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    else if (typeof low === 'bigint') kernel.wasm.range64(address, slotsInUse, to, low, high as bigint)
    else kernel.wasm.range32(address, slotsInUse, to, low, (high as number) - low)
  }

  /** Writes a bitmap of the rows that have one of the codes. Returns false if an index is needed but missing. */
  private makeAmong(condition: ColumnCondition, codes: readonly Code[], to: number): boolean {
    const { column } = condition
    const { store } = this
    const texts = this.textCodesEnd(column)
    const index = texts === null || codes.length <= SLICES_MAX ? this.indexFor(condition) : null
    if (index === null) {
      if (texts === null) return false
      const marks = new Uint8Array(texts)
      // Code 0, which no text has, stands for rows without a value.
      for (const code of codes) marks[Number.isNaN(code) ? 0 : Number(code)] = 1
      this.writeMarked(store.addressOf(column), (code) => marks[code] === 1, texts, to)
      return true
    }
    this.writeSlices(index, codes, to)
    return true
  }

  /**
   * Writes a bitmap of the rows whose code in a column is one of the ids. Looks up each id in the index if the ids are few; else
   * tests all rows.
   */
  private makeReferring(column: number, ids: Ids, to: number) {
    const index = this.areFew(ids.count) ? this.indexes.want(column, 'codes') : null
    if (index === null) this.passReferring(column, ids, to)
    else this.writeSlices(index, ids.each(), to)
  }

  /** Returns whether looking up this many ids in an index takes less time than testing all rows. */
  areFew(ids: number): boolean {
    return ids * SCANNED_SLICE <= this.store.slots
  }

  private writeSlices(index: SortedIndex, codes: Iterable<Code>, to: number) {
    const { kernel, bitmapBytes } = this.store
    kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    for (const code of codes) {
      const slice = sliceBetween(index, code, code)
      index.eachRun(slice.from.position, slice.to.position, (address, count) => kernel.wasm.flip(address, count, to))
    }
  }

  private passReferring(column: number, some: Ids, to: number) {
    const { store } = this
    const { kernel, slotsInUse, bitmapBytes } = store
    const ids = some.toSet()
    // The bit after the last id stays 0: a code outside the range of the ids is looked up at this bit.
    const marks = this.reserveMarks(ids.bytes + 4)
    const words = marks >>> 2
    kernel.words.set(ids.words, words)
    kernel.words[words + ids.words.length] = 0
    const address = store.addressOf(column)
    if (store.isWide(column)) {
      kernel.wasm.amongIds64(address, slotsInUse, marks, BigInt(ids.base), ids.bits, to)
      return
    }
    // A column of 32 bits cannot have ids from 2^31 on.
    const size = Math.min(ids.bits, 2 ** 31 - ids.base)
    if (size <= 0) kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    else kernel.wasm.amongIds32(address, slotsInUse, marks, ids.base, size, to)
  }

  private writeMarked(address: number, isMarked: (code: number) => boolean, texts: number, to: number) {
    const { kernel, slotsInUse } = this.store
    const marks = this.reserveMarks(texts)
    for (let code = 0; code < texts; code++) kernel.octets[marks + code] = Number(isMarked(code))
    kernel.wasm.marked(address, slotsInUse, marks, to)
  }

  /**
   * Returns the address of a buffer of at least `wanted` bytes. The address is valid until the next call. The size is a power of
   * two, so that a dictionary which grows by a few texts at a time does not need a new buffer each time. @throws KernelFull
   */
  private reserveMarks(wanted: number): number {
    if (wanted <= this.marksBytes) return this.marks
    const { kernel } = this.store
    const bytes = Math.max(MARKS_BYTES_MIN, 2 ** Math.ceil(Math.log2(wanted)))
    const marks = kernel.reserve(bytes)
    if (this.marksBytes > 0) kernel.free(this.marks, this.marksBytes)
    this.marks = marks
    this.marksBytes = bytes
    return marks
  }

  /**
   * Returns the index by which the rows of the condition are found. Returns null if the index is missing; then it is built in the
   * background. Also returns null if the index would not be faster than a scan.
   */
  indexFor({ column, by, least, greatest, among }: ColumnCondition): SortedIndex | null {
    const texts = this.textCodesEnd(column)
    if (texts === null || by === 'ranks') return this.indexes.want(column, by)
    // An index is worth its memory only if the condition names texts, and if the property has many texts, each with few rows.
    const isWorth = texts > TEXTS_MIN && (among !== null || least === greatest)
    return isWorth ? this.indexes.want(column, 'codes') : null
  }

  /** Returns the ids of the rows of a bitmap. @throws KernelFull */
  idsOf({ bits, count }: Rows, range: IdRange): IdSet {
    const { store } = this
    const { kernel, bitmapBytes } = store
    const bytes = range.bits / 8
    const marks = this.reserveMarks(bytes)
    kernel.octets.fill(0, marks, marks + bytes)
    const column = store.addressOf(ID)
    if (store.isWide(ID)) kernel.wasm.setIds64(bits, bitmapBytes, column, BigInt(range.base), marks)
    else kernel.wasm.setIds32(bits, bitmapBytes, column, range.base, marks)
    return new IdSet(range.base, range.bits, kernel.words.slice(marks >>> 2, (marks + bytes) >>> 2), count)
  }
}

/**
 * Returns the rows whose code, or rank, is at least `least` and at most `greatest`. If both are NaN, returns the rows without a
 * value.
 */
export function sliceBetween(index: SortedIndex, least: Code, greatest: Code): Slice {
  const first = index.order.targetAt(least, BEFORE_IDS)
  const last = index.order.targetAt(greatest, AFTER_IDS)
  const from = { target: first, position: index.find(first) }
  // Filters may contradict each other: for example, the filter of a request and a filter that the client's rights add. Then no
  // row is between the bounds.
  if (compareTargets(first, last) >= 0) return { index, from, to: from, count: 0 }
  const to = { target: last, position: index.find(last) }
  return { index, from, to, count: index.count(from.position, to.position) }
}

/** Returns the rows with one code; for NaN, the rows without a value. Is faster than `sliceBetween` if these rows are few. */
export function sliceOf(index: SortedIndex, code: Code): Slice {
  const target = index.order.targetAt(code, BEFORE_IDS)
  const position = index.find(target)
  const count = index.countAt(position, target)
  if (count === null) return sliceBetween(index, code, code)
  const from = { target, position }
  const to = { target: { ...target, id: AFTER_IDS }, position: { leaf: position.leaf, at: position.at + count } }
  return { index, from, to, count }
}

const lows = new Int32Array(1)
const highs = new Int32Array(1)

function bigOf(code: Code): bigint {
  halvesTo(lows, highs, 0, code)
  return (BigInt(highs[0]) << 32n) | BigInt(lows[0] >>> 0)
}

/**
 * Returns the least code of 32 bits that is not less than `code`. If there is none, the result is greater than all codes of 32
 * bits.
 */
function narrowLeast(code: Code): number {
  return code <= NO_CODE ? NO_CODE + 1 : Number(code)
}

/**
 * Returns the greatest code of 32 bits that is not greater than `code`. If there is none, the result is less than all codes of 32
 * bits.
 */
function narrowGreatest(code: Code): number {
  return code >= 2 ** 31 - 1 ? 2 ** 31 - 1 : Number(code)
}
