// Bitmaps of conditions. The bitmap of a condition that is used again is kept, and is updated when a row changes.
import { LruCache } from '../model/lruCache.ts'
import { BitmapWriter, type Rows } from './bitmapWriter.ts'
import { type CodeSet, FewCodes, TextCodes } from './codeSet.ts'
import type { Ranks } from './columnOrder.ts'
import type { ColumnStore } from './columnStore.ts'
import { type ColumnCondition, type Condition, leavesOf, type UnionCondition } from './conditions.ts'
import { type Indexes, IndexMissing, type Room } from './indexes.ts'
import { KernelFull } from './kernel.ts'
import { NarrowRows } from './narrowRows.ts'
import { UnionBitmaps } from './unionBitmaps.ts'

/** Maximum number of bitmaps that are kept for one table. Each adds some nanoseconds to the cost of a changed row. */
const KEPT_MAX = 64
/** Maximum estimated bytes of conditions that were used once and may get a bitmap next time: about 2,000 conditions. */
const SEEN_BYTES_MAX = 256 * 1_024
/** Maximum number of slots that are tested one by one against a union. For more slots, the bitmap of the union is made. */
const TESTED_MAX = 1_024

type Test = (slot: number) => boolean

/** A condition on a column, without its referred rows, and without its array of codes, which may be as long as the dictionary. */
type KeptCondition = Omit<ColumnCondition, 'among' | 'referred'>

interface KeptLeaf {
  readonly condition: KeptCondition
  /** Set of codes; a row must have one of them. Null: the range of the condition decides. */
  readonly among: CodeSet | null
}

interface Kept {
  readonly key: string
  /** Lists of conditions. A row's bit is set if the row meets all conditions of one of these lists. */
  readonly alternatives: readonly (readonly KeptLeaf[])[]
  /** Version of the referred rows when the bitmap was made; null if the condition refers to no rows. */
  readonly version: string | null
  readonly bits: number
  readonly test: Test
  count: number
  usedMs: number
}

export class ConditionBitmaps {
  readonly writer: BitmapWriter
  readonly narrow: NarrowRows
  private readonly unions: UnionBitmaps
  private readonly kept = new Map<string, Kept>()
  /** Kept bitmaps, by the column of a condition. */
  private readonly keptOfColumn: Kept[][]
  /**
   * Conditions that were used once. A bitmap is kept from the second use on, so that ranges which are never used again evict no
   * bitmap.
   */
  private readonly seen = new LruCache<true>(SEEN_BYTES_MAX, (_, key) => 64 + 2 * key.length)
  /** Address of the result's bitmap. */
  private readonly resultBits: number
  /** Address of the bitmap of one condition, which is then and-ed with the result. */
  private readonly conditionBits: number
  /** Bytes of the sets of codes that kept conditions have. */
  private codesBytes = 0

  /** @throws KernelFull */
  constructor(
    private readonly store: ColumnStore,
    columns: number,
    indexes: Indexes,
    private readonly ranksOf: (column: number) => Ranks | null,
    /** Returns one more than the greatest code of a column's texts; null if the column has no texts. */
    private readonly textCodesEnd: (column: number) => number | null,
    private readonly room: Room,
  ) {
    this.writer = new BitmapWriter(store, indexes, ranksOf, textCodesEnd)
    this.narrow = new NarrowRows(store, indexes, this.writer, this)
    this.unions = new UnionBitmaps(store, this.narrow, (conditions, ...buffers) => this.rowsOf(conditions, ...buffers))
    this.keptOfColumn = Array.from({ length: columns }, () => [])
    this.resultBits = store.reserveBitmap()
    this.conditionBits = store.reserveBitmap()
  }

  get bytes(): number {
    return 2 * this.store.bitmapBytes + this.narrow.bytes + SEEN_BYTES_MAX + this.partsBytes
  }

  /** Bytes of the kept bitmaps and their sets of codes. */
  get partsBytes(): number {
    return this.kept.size * this.store.bitmapBytes + this.codesBytes
  }

  /**
   * Returns the rows that meet all conditions. The bitmap is valid until the next call, or until a row changes. Returns null if
   * an index is missing. `result`: address of the bitmap to which the result is written. `other`: address of a bitmap that is
   * overwritten with one condition at a time. @throws KernelFull; IndexMissing
   */
  rowsOf(conditions: readonly Condition[], result = this.resultBits, other = this.conditionBits): Rows | null {
    const { store } = this
    const { kernel, bitmapBytes } = store
    let rows: Rows = { bits: store.liveBits, count: store.rows }
    let isFirst = true
    for (const condition of conditions) {
      const own = this.rowsOfOne(condition, isFirst ? result : other)
      if (own === null) return null
      rows = isFirst ? own : { bits: result, count: kernel.wasm.and(rows.bits, own.bits, result, bitmapBytes) }
      isFirst = false
    }
    return rows
  }

  private rowsOfOne(condition: Condition, to: number): Rows | null {
    if ('either' in condition) return this.rowsOfUnion(condition, to)
    return this.keptOf(condition) ?? this.writer.make(condition, to)
  }

  /**
   * Returns the rows of a union. The bitmap of the union is kept only if each alternative has many rows. A union with a small
   * alternative usually belongs to one person. There may be thousands of persons, too many to keep a bitmap for each. Besides,
   * few rows are quickly added to a new bitmap.
   */
  private rowsOfUnion(union: UnionCondition, to: number): Rows | null {
    const few = this.unions.fewOf(union)
    const kept = few.every((one) => one === null) ? this.keptOf(union) : null
    return kept ?? this.unions.make(union, few, to)
  }

  /** Returns the slots of the rows that meet all conditions, if there are few; else null. @throws KernelFull; IndexMissing */
  slotsOf(conditions: readonly Condition[]): Int32Array | null {
    return this.unions.slotsOf(conditions)
  }

  /** Returns whether the bitmap of a condition is kept and up to date. */
  isCurrent(condition: Condition): boolean {
    const kept = this.kept.get(condition.key)
    return kept !== undefined && kept.version === versionOf(condition)
  }

  /** Returns a bitmap of the slots at an address. It overwrites the last result of `rowsOf`. */
  bitmapOf(address: number, count: number): Rows {
    const { kernel, bitmapBytes } = this.store
    kernel.words.fill(0, this.resultBits >>> 2, (this.resultBits + bitmapBytes) >>> 2)
    kernel.wasm.flip(address, count, this.resultBits)
    return { bits: this.resultBits, count }
  }

  /**
   * Returns a function that tests whether a row meets a condition. It is valid until a row changes. @throws KernelFull;
   * IndexMissing
   */
  testFor(condition: Condition): Test {
    const kept = this.kept.get(condition.key)
    if (kept !== undefined && this.isCurrent(condition)) {
      const { words } = this.store.kernel
      return (slot) => ((words[(kept.bits >>> 2) + (slot >> 5)] >>> (slot & 31)) & 1) === 1
    }
    if ('either' in condition) return meetsOne(condition.either.map((conditions) => conditions.map((one) => this.testFor(one))))
    return this.testOf(this.keptLeaf(condition))
  }

  /** Removes the slots that do not meet a condition, in place. Returns how many are left; these keep their order. */
  select(address: number, count: number, condition: Condition): number {
    const { kernel } = this.store
    if ('either' in condition && count > TESTED_MAX) return this.selectByUnion(address, count, condition)
    const kept = 'either' in condition ? null : this.keptOf(condition)
    if (kept) return kernel.wasm.select(address, count, kept.bits, 0, address)
    const { words } = kernel
    const base = address >>> 2
    const test = this.testFor(condition)
    let left = 0
    for (let at = 0; at < count; at++) {
      const slot = words[base + at]
      words[base + left] = slot
      if (test(slot)) left++
    }
    return left
  }

  private selectByUnion(address: number, count: number, union: UnionCondition): number {
    const { store } = this
    const buffer = store.reserveBitmap()
    try {
      const rows = this.rowsOfUnion(union, buffer)
      if (rows === null) throw new IndexMissing()
      return store.kernel.wasm.select(address, count, rows.bits, 0, address)
    } finally {
      store.freeBitmap(buffer)
    }
  }

  /** Notes that a row is new, or that its code in a column has changed. Updates the row's bit in the kept bitmaps. */
  noteChange(slot: number, column: number): void {
    const outdated: Kept[] = []
    for (const kept of this.keptOfColumn[column]) {
      if (kept.alternatives.some((leaves) => leaves.some((leaf) => this.isOutdated(leaf.condition, slot)))) outdated.push(kept)
      else setBit(this.store, kept, slot, kept.test(slot))
    }
    for (const kept of outdated) this.drop(kept)
  }

  noteRemoval(slot: number): void {
    for (const kept of this.kept.values()) setBit(this.store, kept, slot, false)
  }

  /**
   * Notes that texts of a column have got new ranks, or that new texts have got ranks between existing ones. Drops the kept
   * bitmaps that depend on these ranks.
   */
  noteRanks(column: number): void {
    const isRanked = ({ condition }: KeptLeaf) => condition.column === column && condition.by === 'ranks'
    for (const kept of [...this.keptOfColumn[column]])
      if (kept.alternatives.some((leaves) => leaves.some(isRanked))) this.drop(kept)
  }

  /** Frees the bitmaps that no list has used since `beforeMs`. */
  freeUnused(beforeMs: number): void {
    for (const kept of [...this.kept.values()]) if (kept.usedMs < beforeMs) this.drop(kept)
  }

  private drop(kept: Kept) {
    for (const column of columnsOf(kept)) {
      const ofColumn = this.keptOfColumn[column]
      ofColumn.splice(ofColumn.indexOf(kept), 1)
    }
    this.kept.delete(kept.key)
    this.codesBytes -= bytesOf(kept)
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
      // A Map keeps its entries in the order in which they were set, so the first is the least recently used.
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
   * Makes and keeps the bitmap of a condition. Returns null if memory is short, or if the condition needs an index that is
   * missing. @throws KernelFull
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
      rows = 'either' in condition ? this.unions.make(condition, null, bits) : this.writer.make(condition, bits)
    } finally {
      if (rows === null) store.freeBitmap(bits)
    }
    if (rows === null) return null
    const alternatives = this.alternativesOf(condition)
    const test = meetsOne(alternatives.map((leaves) => leaves.map((leaf) => this.testOf(leaf))))
    const { key } = condition
    const kept = { key, alternatives, version: versionOf(condition), bits, test, count: rows.count, usedMs: performance.now() }
    this.codesBytes += bytesOf(kept)
    this.kept.set(key, kept)
    for (const column of columnsOf(kept)) this.keptOfColumn[column].push(kept)
    return kept
  }

  private alternativesOf(condition: Condition): KeptLeaf[][] {
    if (!('either' in condition)) return [[this.keptLeaf(condition)]]
    // The conditions of an alternative may be unions, too: (a or b) and c becomes the lists [a, c] and [b, c].
    return condition.either.flatMap((conditions) =>
      conditions.reduce<KeptLeaf[][]>(
        (lists, one) => lists.flatMap((list) => this.alternativesOf(one).map((leaves) => [...list, ...leaves])),
        [[]],
      ),
    )
  }

  private keptLeaf(condition: ColumnCondition): KeptLeaf {
    const { among: _, referred: __, ...rest } = condition
    return { condition: rest, among: this.amongOf(condition) }
  }

  /** Reserves a bitmap to keep. Returns null if the kernel has no memory for it; then no bitmap of the condition is kept. */
  private bitmapToKeep(): number | null {
    try {
      return this.store.reserveBitmap()
    } catch (error) {
      if (error instanceof KernelFull) return null
      throw error
    }
  }

  /**
   * Returns whether the condition cannot judge the row's text, because the text is newer than the condition or has no rank yet.
   */
  private isOutdated({ column, by, codesEnd }: KeptCondition, slot: number): boolean {
    if (codesEnd === Number.POSITIVE_INFINITY) return false
    const code = this.store.lowAt(slot, column)
    return code >= codesEnd || (by === 'ranks' && code > 0 && (this.ranksOf(column)?.ranks[code] ?? 0) === 0)
  }

  private amongOf({ column, among, referred }: ColumnCondition): CodeSet | null {
    if (referred !== null) return referred.ids()
    if (among === null) return null
    const texts = this.textCodesEnd(column)
    return texts === null ? new FewCodes(among) : new TextCodes(among, texts)
  }

  /** Returns a function that tests whether a row meets the condition, by the row's codes. */
  private testOf({ condition, among }: KeptLeaf): Test {
    const { column, by, least, greatest, isComplement } = condition
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

/** Returns a function that tests whether a row passes all tests of one of the lists. */
function meetsOne(alternatives: readonly (readonly Test[])[]): Test {
  const [first, ...others] = alternatives.map((tests): Test => {
    const [one, ...more] = tests
    return more.length === 0 ? one : (slot) => tests.every((test) => test(slot))
  })
  return others.length === 0 ? first : (slot) => first(slot) || others.some((test) => test(slot))
}

function versionOf(condition: Condition): string | null {
  const versions = leavesOf(condition).flatMap(({ referred }) => referred?.version ?? [])
  return versions.length === 0 ? null : versions.join(' ')
}

function columnsOf({ alternatives }: Kept): Set<number> {
  return new Set(alternatives.flat().map(({ condition }) => condition.column))
}

/** Returns the bytes that the sets of codes of a kept bitmap use. */
function bytesOf({ alternatives }: Kept): number {
  return alternatives.flat().reduce((sum, { among }) => sum + (among?.bytes ?? 0), 0)
}

function setBit({ kernel: { words } }: ColumnStore, kept: Kept, slot: number, isSet: boolean) {
  const word = (kept.bits >>> 2) + (slot >> 5)
  const bit = 1 << (slot & 31)
  const before = words[word]
  words[word] = isSet ? before | bit : before & ~bit
  if (words[word] !== before) kept.count += isSet ? 1 : -1
}
