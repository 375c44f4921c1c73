// Bitmaps of conditions: made by a difference of checkpoints or by a scan of the codes, and kept current while rows change.
import { LruCache } from '../model/lruCache.ts'
import type { Bound } from './checkpoints.ts'
import { type CodeSet, FewCodes, TextCodes } from './codeSet.ts'
import { type Code, halvesTo, NO_CODE } from './codes.ts'
import { AFTER_IDS, BEFORE_IDS, type Ranks } from './columnOrder.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import { type Condition, isRange, type ReferredRows } from './conditions.ts'
import { type IdRange, IdSet } from './idSet.ts'
import type { Indexes, Room } from './indexes.ts'
import { KernelFull } from './kernel.ts'
import type { SortedIndex } from './sortedIndex.ts'

/** Maximum bitmaps that are kept for one table. A changed row costs some nanoseconds for each. */
const KEPT_MAX = 64
/** Maximum estimated bytes of remembered conditions that were asked once: about 2,000 of usual length. */
const SEEN_BYTES_MAX = 256 * 1_024
/** Minimum texts of a property for an index by code; with fewer, each text has so many rows that a scan is as good. */
const TEXTS_MIN = 256
/** Maximum texts whose slices of an index are taken one by one; for more, each row looks up the mark of its text. */
const SLICES_MAX = 256
/** Minimum bytes of the buffer of marks. */
const MARKS_BYTES_MIN = 4_096
/** Rows that a pass looks up in a set of ids in the time in which those of one id are found by the index. */
const SCANNED_SLICE = 512
/** Number of codes that a scan reads in the time in which one bit is flipped. */
const SCANNED_ROWS = 8

/** Rows of a condition as a part of an index. */
export interface Slice {
  readonly index: SortedIndex
  readonly from: Bound
  readonly to: Bound
  readonly count: number
}

/** A bitmap, and how many rows it has. */
export interface Rows {
  readonly bits: number
  readonly count: number
}

type KeptCondition = Omit<Condition, 'among' | 'referred'>

interface Kept {
  /** The condition without its codes, which may be those of all texts. */
  readonly condition: KeptCondition
  /** The codes of which a row has one; null: a range decides. */
  readonly among: CodeSet | null
  /** Version of the referred rows when the bitmap was made; null: it depends on no other rows. */
  readonly version: string | null
  readonly bits: number
  readonly test: (slot: number) => boolean
  count: number
  usedMs: number
}

export class ConditionBitmaps {
  private readonly kept = new Map<string, Kept>()
  /** Kept bitmaps by their column. */
  private readonly keptOfColumn: Kept[][]
  /**
   * Conditions that were asked once. A bitmap is kept from the second time on, so that ranges which never come again push none
   * out.
   */
  private readonly seen = new LruCache<true>(SEEN_BYTES_MAX, (_, key) => 64 + 2 * key.length)
  /** Addresses of two bitmaps: of a result, and of a condition that is and-ed with it. */
  private readonly resultBits: number
  private readonly conditionBits: number
  /** Bytes of the codes of kept conditions. */
  private codesBytes = 0
  /** The place for a mark of each text, or a bit of each id, and its size. */
  private marks = 0
  private marksBytes = 0

  /** @throws KernelFull */
  constructor(
    private readonly store: ColumnStore,
    columns: number,
    private readonly indexes: Indexes,
    private readonly ranksOf: (column: number) => Ranks | null,
    /** Returns one more than the greatest code of a column's texts; null: the column has no texts. */
    private readonly textCodesEnd: (column: number) => number | null,
    private readonly room: Room,
  ) {
    this.keptOfColumn = Array.from({ length: columns }, () => [])
    this.resultBits = store.reserveBitmap()
    this.conditionBits = store.reserveBitmap()
  }

  get bytes(): number {
    return 2 * this.store.bitmapBytes + SEEN_BYTES_MAX + this.partsBytes
  }

  /** Bytes of the bitmaps that are kept. */
  get partsBytes(): number {
    return this.kept.size * this.store.bitmapBytes + this.codesBytes
  }

  /**
   * Returns the rows that meet all conditions. The bitmap is valid until the next call, or until a row changes. Null: an index is
   * missing. `result`, `other`: bitmaps to write to. @throws KernelFull; IndexMissing
   */
  rowsOf(conditions: readonly Condition[], result = this.resultBits, other = this.conditionBits): Rows | null {
    const { store } = this
    const { kernel, bitmapBytes } = store
    let rows: Rows = { bits: store.liveBits, count: store.rows }
    let isFirst = true
    for (const condition of conditions) {
      const own = this.keptOf(condition) ?? this.make(condition, isFirst ? result : other)
      if (own === null) return null
      rows = isFirst ? own : { bits: result, count: kernel.wasm.and(rows.bits, own.bits, result, bitmapBytes) }
      isFirst = false
    }
    return rows
  }

  /** Returns the rows of a condition as a part of an index; null: the condition is no range, or the index is missing. */
  sliceOf(condition: Condition): Slice | null {
    if (condition.referred !== null) return this.sliceOfOne(condition, condition.referred)
    const index = isRange(condition) ? this.indexFor(condition) : null
    return index && sliceBetween(index, condition.least, condition.greatest)
  }

  /** The rows that refer to a single row, or to none; null: there are more, or the bitmap is kept. */
  private sliceOfOne(condition: Condition, referred: ReferredRows): Slice | null {
    if (condition.isComplement || this.isCurrent(condition)) return null
    const ids = referred.ids()
    const index = ids.count <= 1 ? this.indexes.want(condition.column, 'codes') : null
    if (index === null) return null
    for (const id of ids.each()) return sliceBetween(index, id, id)
    return sliceBetween(index, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)
  }

  /** Returns whether the bitmap of a condition is kept, and is that of the rows as they are now. */
  private isCurrent(condition: Condition): boolean {
    const kept = this.kept.get(condition.key)
    return kept !== undefined && kept.version === versionOf(condition)
  }

  /** The ids of some rows. @throws KernelFull */
  idsOf({ bits, count }: Rows, range: IdRange): IdSet {
    const { store } = this
    const { kernel, bitmapBytes } = store
    const bytes = range.bits / 8
    const place = this.placeOfMarks(bytes)
    kernel.octets.fill(0, place, place + bytes)
    const column = store.addressOf(ID)
    if (store.isWide(ID)) kernel.wasm.setIds64(bits, bitmapBytes, column, BigInt(range.base), place)
    else kernel.wasm.setIds32(bits, bitmapBytes, column, range.base, place)
    return new IdSet(range.base, range.bits, kernel.words.slice(place >>> 2, (place + bytes) >>> 2), count)
  }

  /** Writes a bitmap of some slots to the bitmap of results. */
  bitmapOf(address: number, count: number): Rows {
    const { kernel, bitmapBytes } = this.store
    kernel.words.fill(0, this.resultBits >>> 2, (this.resultBits + bitmapBytes) >>> 2)
    kernel.wasm.flip(address, count, this.resultBits)
    return { bits: this.resultBits, count }
  }

  /** Tests whether rows meet a condition; the test holds until a row changes. @throws KernelFull; IndexMissing */
  testFor(condition: Condition): (slot: number) => boolean {
    const kept = this.kept.get(condition.key)
    if (kept === undefined || !this.isCurrent(condition)) return this.testOf(condition, this.amongOf(condition))
    const { words } = this.store.kernel
    return (slot) => ((words[(kept.bits >>> 2) + (slot >> 5)] >>> (slot & 31)) & 1) === 1
  }

  /** Removes slots that do not meet a condition, in place; returns how many are left, in their order. */
  select(address: number, count: number, condition: Condition): number {
    const { kernel } = this.store
    const kept = this.keptOf(condition)
    if (kept) return kernel.wasm.select(address, count, kept.bits, 0, address)
    const { words } = kernel
    const base = address >>> 2
    const test = this.testOf(condition, this.amongOf(condition))
    let left = 0
    for (let at = 0; at < count; at++) {
      const slot = words[base + at]
      words[base + left] = slot
      if (test(slot)) left++
    }
    return left
  }

  /** Notes that a row is new or has another code in a column: sets its bits in the kept bitmaps. */
  noteChange(slot: number, column: number): void {
    const outdated: Kept[] = []
    for (const kept of this.keptOfColumn[column]) {
      if (this.isOutdated(kept.condition, slot)) outdated.push(kept)
      else setBit(this.store, kept, slot, kept.test(slot))
    }
    for (const kept of outdated) this.drop(kept)
  }

  noteRemoval(slot: number): void {
    for (const kept of this.kept.values()) setBit(this.store, kept, slot, false)
  }

  /** Notes that ranks of a column's texts have changed, or that texts have come between others. */
  noteRanks(column: number): void {
    for (const kept of [...this.keptOfColumn[column]]) if (kept.condition.by === 'ranks') this.drop(kept)
  }

  /** Frees the bitmaps that no list has used since `beforeMs`. */
  giveWay(beforeMs: number): void {
    for (const kept of [...this.kept.values()]) if (kept.usedMs < beforeMs) this.drop(kept)
  }

  private drop(kept: Kept) {
    const ofColumn = this.keptOfColumn[kept.condition.column]
    ofColumn.splice(ofColumn.indexOf(kept), 1)
    this.kept.delete(kept.condition.key)
    this.codesBytes -= kept.among?.bytes ?? 0
    this.store.freeBitmap(kept.bits)
  }

  private keptOf(condition: Condition): Kept | null {
    const { key } = condition
    const known = this.kept.get(key)
    if (known !== undefined && known.version !== versionOf(condition)) {
      this.drop(known)
      return this.keep(condition)
    }
    if (known !== undefined) {
      known.usedMs = performance.now()
      // The least recently used one is the first.
      this.kept.delete(key)
      this.kept.set(key, known)
      return known
    }
    if (this.seen.get(key) === undefined) {
      this.seen.set(key, true)
      return null
    }
    return this.keep(condition)
  }

  /**
   * Makes and keeps the bitmap of a condition. Null: it finds no memory, or needs an index that is missing. @throws KernelFull
   */
  private keep(condition: Condition): Kept | null {
    const { store } = this
    if (!this.room.has(store.bitmapBytes)) return null
    if (this.kept.size >= KEPT_MAX) {
      const [oldest] = this.kept.values()
      this.drop(oldest)
    }
    const bits = this.bitmapToKeep()
    if (bits === null) return null
    let rows: Rows | null = null
    try {
      rows = this.make(condition, bits)
    } finally {
      if (rows === null) store.freeBitmap(bits)
    }
    if (rows === null) return null
    const among = this.amongOf(condition)
    const { among: _, referred: __, ...rest } = condition
    const test = this.testOf(rest, among)
    const version = versionOf(condition)
    const kept = { condition: rest, among, version, bits, test, count: rows.count, usedMs: performance.now() }
    this.codesBytes += among?.bytes ?? 0
    this.kept.set(condition.key, kept)
    this.keptOfColumn[condition.column].push(kept)
    return kept
  }

  /** Reserves a bitmap to keep. Null: the kernel has no memory for it, so the condition is evaluated without. */
  private bitmapToKeep(): number | null {
    try {
      return this.store.reserveBitmap()
    } catch (error) {
      if (error instanceof KernelFull) return null
      throw error
    }
  }

  /** Writes the bitmap of a condition; null: it needs an index that is missing. */
  private make(condition: Condition, to: number): Rows | null {
    const { store } = this
    const { kernel, liveBits, bitmapBytes } = store
    if (condition.referred !== null) this.makeReferring(condition.column, condition.referred.ids(), to)
    else if (condition.among === null) this.makeRange(condition, to)
    else if (!this.makeAmong(condition, condition.among, to)) return null
    const combine = condition.isComplement ? kernel.wasm.andNot : kernel.wasm.and
    return { bits: to, count: combine(liveBits, to, to, bitmapBytes) }
  }

  private makeRange(condition: Condition, to: number) {
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
      // The code 0 stands for no value.
      const isMarked = (code: number) => code > 0 && ranks[code] >= least && ranks[code] <= greatest
      return this.writeMarked(address, isMarked, this.textCodesEnd(column) ?? 0, to)
    }
    const [low, high] = store.isWide(column) ? [bigOf(least), bigOf(greatest)] : [narrowLeast(least), narrowGreatest(greatest)]
    if (low > high) kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    else if (typeof low === 'bigint') kernel.wasm.range64(address, slotsInUse, to, low, high as bigint)
    else kernel.wasm.range32(address, slotsInUse, to, low, (high as number) - low)
  }

  /** As `make`, for codes. False: it needs an index that is missing. */
  private makeAmong(condition: Condition, codes: readonly Code[], to: number): boolean {
    const { column } = condition
    const { store } = this
    const texts = this.textCodesEnd(column)
    const index = texts === null || codes.length <= SLICES_MAX ? this.indexFor(condition) : null
    if (index === null) {
      if (texts === null) return false
      const marks = new Uint8Array(texts)
      // No text has the code 0, so it stands for no value.
      for (const code of codes) marks[Number.isNaN(code) ? 0 : Number(code)] = 1
      this.writeMarked(store.addressOf(column), (code) => marks[code] === 1, texts, to)
      return true
    }
    this.writeSlices(index, codes, to)
    return true
  }

  /** Writes a bitmap of the rows whose code of a column is one of the ids: by the index if they are few, else by a pass. */
  private makeReferring(column: number, ids: IdSet, to: number) {
    const index = ids.count * SCANNED_SLICE <= this.store.slots ? this.indexes.want(column, 'codes') : null
    if (index === null) this.passReferring(column, ids, to)
    else this.writeSlices(index, ids.each(), to)
  }

  private writeSlices(index: SortedIndex, codes: Iterable<Code>, to: number) {
    const { kernel, bitmapBytes } = this.store
    kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    for (const code of codes) {
      const slice = sliceBetween(index, code, code)
      index.eachRun(slice.from.place, slice.to.place, (address, count) => kernel.wasm.flip(address, count, to))
    }
  }

  private passReferring(column: number, ids: IdSet, to: number) {
    const { store } = this
    const { kernel, slotsInUse, bitmapBytes } = store
    // The bit after all others stays 0: it stands for all codes beyond them.
    const place = this.placeOfMarks(ids.bytes + 4)
    const words = place >>> 2
    kernel.words.set(ids.words, words)
    kernel.words[words + ids.words.length] = 0
    const address = store.addressOf(column)
    if (store.isWide(column)) {
      kernel.wasm.amongIds64(address, slotsInUse, place, BigInt(ids.base), ids.bits, to)
      return
    }
    // Greater ids do not fit into the column.
    const size = Math.min(ids.bits, 2 ** 31 - ids.base)
    if (size <= 0) kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
    else kernel.wasm.amongIds32(address, slotsInUse, place, ids.base, size, to)
  }

  private writeMarked(address: number, isMarked: (code: number) => boolean, texts: number, to: number) {
    const { kernel, slotsInUse } = this.store
    const place = this.placeOfMarks(texts)
    for (let code = 0; code < texts; code++) kernel.octets[place + code] = Number(isMarked(code))
    kernel.wasm.marked(address, slotsInUse, place, to)
  }

  /**
   * A place for the marks of texts, or the bits of ids, until the next call. It is doubled: each size is given back once, and
   * dictionaries grow by a few texts at a time. @throws KernelFull
   */
  private placeOfMarks(wanted: number): number {
    if (wanted <= this.marksBytes) return this.marks
    const { kernel } = this.store
    const bytes = Math.max(MARKS_BYTES_MIN, 2 ** Math.ceil(Math.log2(wanted)))
    const marks = kernel.reserve(bytes)
    if (this.marksBytes > 0) kernel.free(this.marks, this.marksBytes)
    this.marks = marks
    this.marksBytes = bytes
    return marks
  }

  /** Returns the index that finds the rows of the condition, if it exists; else begins to build it, if it is worth it. */
  private indexFor({ column, by, least, greatest, among }: Condition): SortedIndex | null {
    const texts = this.textCodesEnd(column)
    if (texts === null || by === 'ranks') return this.indexes.want(column, by)
    // A text that no row has, and texts that many rows have, are found as well without.
    const isWorth = texts > TEXTS_MIN && (among !== null || least === greatest)
    return isWorth ? this.indexes.want(column, 'codes') : null
  }

  /** Returns whether texts that the condition does not know may belong to the row. */
  private isOutdated({ column, by, codesEnd }: KeptCondition, slot: number): boolean {
    if (codesEnd === Number.POSITIVE_INFINITY) return false
    const code = this.store.lowAt(slot, column)
    return code >= codesEnd || (by === 'ranks' && code > 0 && (this.ranksOf(column)?.ranks[code] ?? 0) === 0)
  }

  private amongOf({ column, among, referred }: Condition): CodeSet | null {
    if (referred !== null) return referred.ids()
    if (among === null) return null
    const texts = this.textCodesEnd(column)
    return texts === null ? new FewCodes(among) : new TextCodes(among, texts)
  }

  /** Returns a test of whether a row meets the condition, by its codes. */
  private testOf({ column, by, least, greatest, isComplement }: KeptCondition, among: CodeSet | null) {
    const { store } = this
    if (among !== null) return (slot: number) => among.has(store.codeAt(slot, column)) !== isComplement
    const ranked = by === 'ranks' ? this.ranksOf(column) : null
    return (slot: number) => {
      const code = store.codeAt(slot, column)
      const value = ranked === null || Number.isNaN(code) ? code : ranked.ranks[Number(code)]
      return (value >= least && value <= greatest) !== isComplement
    }
  }
}

/** Returns the rows from one code, or rank, to another. NaN for both: rows without a value. */
function sliceBetween(index: SortedIndex, least: Code, greatest: Code): Slice {
  const from = index.order.targetAt(least, BEFORE_IDS)
  const to = index.order.targetAt(greatest, AFTER_IDS)
  const place = index.find(from)
  const bounds = { from: { target: from, place }, to: { target: to, place: index.find(to) } }
  const count = index.count(bounds.from.place, bounds.to.place)
  return count > 0 ? { index, ...bounds, count } : { index, from: bounds.from, to: bounds.from, count: 0 }
}

function versionOf({ referred }: Condition): string | null {
  return referred === null ? null : referred.version
}

function setBit({ kernel: { words } }: ColumnStore, kept: Kept, slot: number, isSet: boolean) {
  const word = (kept.bits >>> 2) + (slot >> 5)
  const bit = 1 << (slot & 31)
  const before = words[word]
  words[word] = isSet ? before | bit : before & ~bit
  if (words[word] !== before) kept.count += isSet ? 1 : -1
}

const lows = new Int32Array(1)
const highs = new Int32Array(1)

function bigOf(code: Code): bigint {
  halvesTo(lows, highs, 0, code)
  return (BigInt(highs[0]) << 32n) | BigInt(lows[0] >>> 0)
}

/** Returns the least code of 32 bits that is not less than this one. */
function narrowLeast(code: Code): number {
  return code <= NO_CODE ? NO_CODE + 1 : Number(code)
}

/** Returns the greatest code of 32 bits that is not greater than this one; if there is none, a number less than all codes. */
function narrowGreatest(code: Code): number {
  return code >= 2 ** 31 - 1 ? 2 ** 31 - 1 : Number(code)
}
