// Few rows that meet conditions: gathered from parts of indexes, one by one, so that they need no bitmap of the whole table.
import { type BitmapWriter, type Slice, sliceBetween, sliceOf } from './bitmapWriter.ts'
import type { ColumnStore } from './columnStore.ts'
import { type ColumnCondition, type Condition, isRange, type ReferredRows } from './conditions.ts'
import type { Indexes } from './indexes.ts'

/** Maximum rows that are gathered and tested one by one instead of by bitmaps. */
export const NARROW_MAX = 32_768
/**
 * Maximum ids that a condition on a reference may have for its rows to be found by the index, id by id, at each list. With more
 * ids a bitmap of the rows is kept.
 */
const IDS_MAX = 64
/** Maximum slots that are copied one by one, in less time than by a call. */
const COPIED_MAX = 32
/** Maximum values of `[]` in a union. */
const VALUES_MAX = 64

/** Rows of parts of indexes that one condition has; for a union, those of its alternatives. */
export interface Candidates {
  /** Number of rows; those of several alternatives count several times. */
  readonly count: number
  /** Null: the alternatives of a union have the rows. */
  readonly slices: readonly Slice[] | null
  readonly alternatives: readonly Narrowed[]
}

/** Candidates of one condition, and the other conditions that they must meet. */
export interface Narrowed {
  readonly candidates: Candidates
  readonly others: readonly Condition[]
}

/** Evaluates conditions of a table. */
interface Conditions {
  /** Returns whether the bitmap of a condition is kept, and is that of the rows as they are now. */
  isCurrent(condition: Condition): boolean
  /** Removes slots that do not meet a condition, in place; returns how many are left, in their order. */
  select(address: number, count: number, condition: Condition): number
}

export class NarrowRows {
  /** Address of a bitmap without bits, to find slots that come twice; 0: it is not needed yet. */
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
   * Returns the parts of indexes with the rows of a condition; null: there are none, or a bitmap finds the rows sooner.
   * `isOfUnion`: it is a condition of an alternative, for which there may be no bitmap. @throws KernelFull; IndexMissing
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
   * Returns the rows of an alternative of a union, if one condition has at most `most` candidates; else null.
   * @throws as `candidatesOf`
   */
  leastOf(conditions: readonly Condition[], most: number): Narrowed | null {
    let least: Candidates | null = null
    let place = -1
    for (const [at, condition] of conditions.entries()) {
      const candidates = this.candidatesOf(condition, true)
      if (candidates === null || candidates.count > most || (least !== null && candidates.count >= least.count)) continue
      least = candidates
      place = at
    }
    return least && { candidates: least, others: conditions.filter((_, at) => at !== place) }
  }

  /** Parts of an index with the rows of a condition. */
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
    // In ascending order; no value is not equal to itself.
    const codes = among.filter((code, at) => at === 0 || !Object.is(code, among[at - 1]))
    return index && codes.map((code) => sliceOf(index, code))
  }

  /** Parts of an index with the rows that refer to one of a few rows. */
  private slicesOfReferred(column: number, referred: ReferredRows, isOfUnion: boolean): readonly Slice[] | null {
    const ids = referred.ids()
    const areFew = ids.count <= 1 || ((isOfUnion || ids.count <= IDS_MAX) && this.writer.areFew(ids.count))
    const index = areFew ? this.indexes.want(column, 'codes') : null
    return index && Array.from(ids.each(), (id) => sliceOf(index, id))
  }

  /**
   * Writes the slots of the rows, each once; returns how many there are. Those of a single part of an index are in its order.
   * `to`: room for as many as the candidates count. @throws as `candidatesOf`
   */
  gather({ candidates, others }: Narrowed, to: number): number {
    const { words } = this.store.kernel
    let count = 0
    for (const { index, from, to: end } of candidates.slices ?? [])
      index.eachRun(from.place, end.place, (address, slots) => {
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

  /** Removes repeated slots; returns how many are left. */
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
