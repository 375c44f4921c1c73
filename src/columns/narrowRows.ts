// Finds the rows that meet conditions, if they are few: reads them from indexes, and tests them one by one. So no bitmap of the
// whole table is needed.
import { type BitmapWriter, type Slice, sliceBetween, sliceOf } from './bitmapWriter.ts'
import type { ColumnStore } from './columnStore.ts'
import { type ColumnCondition, type Condition, isRange, type ReferredRows } from './conditions.ts'
import type { Indexes } from './indexes.ts'

/** Maximum number of rows that are gathered and tested one by one. For more rows, bitmaps are used. */
export const NARROW_MAX = 32_768
/**
 * Maximum number of ids in a condition on a reference for which each list reads the rows from the index. If a condition has more
 * ids, a bitmap of its rows is kept instead.
 */
const IDS_MAX = 64
/** Maximum number of slots that are copied in a loop. For more slots, `copyWithin` is faster. */
const COPIED_MAX = 32
/** Maximum number of values in a `[]` filter of a union for which rows are read from the index, value by value. */
const VALUES_MAX = 64

/** Rows of one condition, read from indexes. The rows of a union are those of its alternatives. */
export interface Candidates {
  /** Number of rows. In a union, a row counts once for each alternative that has it. */
  readonly count: number
  /** Consecutive rows of indexes; null if the rows are those of the alternatives of a union. */
  readonly slices: readonly Slice[] | null
  readonly alternatives: readonly Narrowed[]
}

/** Candidates of one condition, and the remaining conditions that the rows must also meet. */
export interface Narrowed {
  readonly candidates: Candidates
  readonly others: readonly Condition[]
}

/** Evaluates conditions of a table. */
interface Conditions {
  /** Returns whether the bitmap of a condition is kept and up to date. */
  isCurrent(condition: Condition): boolean
  /** Removes the slots that do not meet a condition, in place. Returns how many are left; these keep their order. */
  select(address: number, count: number, condition: Condition): number
}

export class NarrowRows {
  /** Address of a bitmap that is used to find repeated slots. No bit is set between uses. 0 until it is first needed. */
  private marks = 0

  constructor(
    private readonly store: ColumnStore,
    private readonly indexes: Indexes,
    private readonly writer: BitmapWriter,
    private readonly conditions: Conditions,
  ) {}

  get bytes(): number {
    return this.marks === 0 ? 0 : this.store.bitmapBytes
  }

  /**
   * Returns the candidates of a condition: slices of indexes that have its rows. Returns null if no index finds the rows, or if a
   * bitmap finds them sooner. `isOfUnion`: true for a condition of an alternative. Slices are then preferred, because there may
   * be no kept bitmap of the condition. @throws KernelFull; IndexMissing
   */
  candidatesOf(condition: Condition, isOfUnion = false): Candidates | null {
    if (!('either' in condition)) {
      const slices = this.slicesOf(condition, isOfUnion)
      return slices && { slices, count: slices.reduce((sum, { count }) => sum + count, 0), alternatives: [] }
    }
    const alternatives: Narrowed[] = []
    let count = 0
    for (const conditions of condition.either) {
      const narrowed = this.leastOf(conditions, NARROW_MAX - count)
      if (narrowed === null) return null
      alternatives.push(narrowed)
      count += narrowed.candidates.count
    }
    return { slices: null, count, alternatives }
  }

  /**
   * Finds the condition with the fewest candidates among the conditions of an alternative. Returns its candidates, and the
   * remaining conditions. Returns null if no condition has candidates, or if each has more than `most`. @throws as `candidatesOf`
   */
  leastOf(conditions: readonly Condition[], most: number): Narrowed | null {
    let least: Candidates | null = null
    let leastAt = -1
    for (const [at, condition] of conditions.entries()) {
      const candidates = this.candidatesOf(condition, true)
      if (candidates === null || candidates.count > most || (least !== null && candidates.count >= least.count)) continue
      least = candidates
      leastAt = at
    }
    return least && { candidates: least, others: conditions.filter((_, at) => at !== leastAt) }
  }

  /** Returns slices of an index that have the rows of a condition. Returns null for the same reasons as `candidatesOf`. */
  private slicesOf(condition: ColumnCondition, isOfUnion: boolean): readonly Slice[] | null {
    const { referred, among, isComplement } = condition
    if (isRange(condition)) {
      const index = this.writer.indexFor(condition)
      return index && [sliceBetween(index, condition.least, condition.greatest)]
    }
    if (isComplement || this.conditions.isCurrent(condition)) return null
    if (referred !== null) return this.slicesOfReferred(condition.column, referred, isOfUnion)
    if (among === null || !isOfUnion || among.length > VALUES_MAX) return null
    const index = this.writer.indexFor(condition)
    // Removes repeated codes, which follow each other. NaN, for rows without a value, is not equal to itself, so `Object.is`
    // compares.
    const codes = among.filter((code, at) => at === 0 || !Object.is(code, among[at - 1]))
    return index && codes.map((code) => sliceOf(index, code))
  }

  /**
   * Returns slices of an index with the rows that refer to `referred`, one slice for each id. Returns null if there are too many
   * ids, or if the index is missing.
   */
  private slicesOfReferred(column: number, referred: ReferredRows, isOfUnion: boolean): readonly Slice[] | null {
    const ids = referred.ids()
    const areFew = ids.count <= 1 || ((isOfUnion || ids.count <= IDS_MAX) && this.writer.areFew(ids.count))
    const index = areFew ? this.indexes.want(column, 'codes') : null
    return index && Array.from(ids.each(), (id) => sliceOf(index, id))
  }

  /**
   * Writes the slots of the rows, each once, and returns their number. Rows of a single slice keep the order of its index. `to`:
   * address of a buffer for `candidates.count` slots. @throws as `candidatesOf`
   */
  gather({ candidates, others }: Narrowed, to: number): number {
    const { words } = this.store.kernel
    let count = 0
    for (const { index, from, to: end } of candidates.slices ?? [])
      index.eachRun(from.position, end.position, (address, slots) => {
        const first = address >>> 2
        if (slots > COPIED_MAX) words.copyWithin((to >>> 2) + count, first, first + slots)
        else for (let at = 0; at < slots; at++) words[(to >>> 2) + count + at] = words[first + at]
        count += slots
      })
    for (const alternative of candidates.alternatives) count += this.gather(alternative, to + 4 * count)
    if (candidates.alternatives.length > 1) count = this.distinct(to, count)
    for (const condition of others) count = this.conditions.select(to, count, condition)
    return count
  }

  /** Removes repeated slots, and returns how many slots are left. */
  private distinct(address: number, count: number): number {
    const { store } = this
    const { words } = store.kernel
    if (this.marks === 0) this.marks = store.reserveBitmap()
    const base = address >>> 2
    const marks = this.marks >>> 2
    let left = 0
    for (let at = 0; at < count; at++) {
      const slot = words[base + at]
      const word = marks + (slot >> 5)
      const bit = 1 << (slot & 31)
      if ((words[word] & bit) !== 0) continue
      words[word] |= bit
      words[base + left++] = slot
    }
    for (let at = 0; at < left; at++) words[marks + (words[base + at] >> 5)] = 0
    return left
  }
}
