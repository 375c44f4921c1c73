// Finds lists of one table: the rows that the filters match, by bitmaps or by consecutive rows of indexes. Returns their total
// and the page.
import type { ListQuery, Seek } from '../model/query.ts'
import type { CodedRows } from '../respond/page.ts'
import { firstNotBefore } from './bisect.ts'
import type { Rows, Slice } from './bitmapWriter.ts'
import { ColumnOrder, type Target } from './columnOrder.ts'
import type { ColumnStore } from './columnStore.ts'
import type { ConditionBitmaps } from './conditionBitmaps.ts'
import type { Coded, Condition, Reason } from './conditions.ts'
import { FoundRows } from './foundPage.ts'
import { type IndexedBy, type Indexes, IndexMissing } from './indexes.ts'
import { KernelFull } from './kernel.ts'
import { type Candidates, NARROW_MAX, type Narrowed } from './narrowRows.ts'
import { compareTo, isOneIndex, type PageKey, pageKeysOf, sortedPage, targetsOf } from './pageKeys.ts'
import { GATHERED_BYTES, GATHERED_MAX, PageSearch, type Range, type Way } from './pageSearch.ts'
import { RowsWithRelated, type TableLookUp } from './relatedFields.ts'
import type { UncodedValues } from './rowCodes.ts'
import type { TableConditions } from './tableConditions.ts'
import { NO_TABLES, type Tables } from './tables.ts'
import type { TableTexts } from './tableTexts.ts'

/** A page, the total of its list, and how the page was found. */
export interface FoundPage {
  /** Number of rows of the list. */
  readonly total: number
  readonly rows: CodedRows
  readonly way: Way
}

/** The parts of a table by which lists are found. */
export interface ListParts {
  readonly coded: Coded
  readonly store: ColumnStore
  readonly indexes: Indexes
  readonly bitmaps: ConditionBitmaps
  readonly conditions: TableConditions
  readonly lookUp: TableLookUp
  /** Returns these tables together with this table. */
  withItself(tables: Tables): Tables
  readonly texts: TableTexts
  /** Values without a code, as PostgreSQL prints them, by id and column. */
  readonly uncodedRows: ReadonlyMap<number, UncodedValues>
}

interface FoundSlots {
  readonly total: number
  readonly slots: ArrayLike<number>
  readonly way: Way
}

/** Rows of a page: those whose row numbers are in a range, or those next to the position of a cursor. */
type PageRows =
  | { readonly range: Range }
  | { readonly side: Seek['side']; readonly targets: readonly Target[]; readonly size: number }

export class ListSearch {
  /** Address of a buffer of slots for few candidates, which are tested one by one. */
  private readonly candidatesBuffer: number
  /** Address of a buffer of slots for the matches of a page. */
  private readonly matchesBuffer: number

  /** @throws KernelFull */
  constructor(private readonly parts: ListParts) {
    const { kernel } = parts.store
    this.candidatesBuffer = kernel.reserve(4 * NARROW_MAX)
    this.matchesBuffer = kernel.reserve(GATHERED_BYTES)
  }

  /**
   * Finds total and page of a list synchronously, or returns the reason why codes cannot decide them. The caller must call
   * `ColumnTable.prepare` first, for the texts of the list. `tables`: the tables to which paths of the list lead.
   */
  find(query: ListQuery, tables: Tables = NO_TABLES): FoundPage | Reason {
    try {
      return this.findPage(query, this.parts.withItself(tables))
    } catch (error) {
      // Each frequent value of the first sort may need a bitmap, so memory may run out here.
      if (error instanceof KernelFull || error instanceof IndexMissing) return 'index'
      throw error
    }
  }

  private findPage({ filters, sorts, page, pageSize, seek, choice }: ListQuery, tables: Tables): FoundPage | Reason {
    const { coded, store, texts, uncodedRows, conditions: ofTable, lookUp } = this.parts
    const keys = pageKeysOf(coded, sorts, (column, by) => this.orderOf(column, by))
    if (typeof keys === 'string') return keys
    const conditions = ofTable.of(filters, tables)
    if (typeof conditions === 'string') return conditions
    const targets = seek && targetsOf(coded, keys, seek.position, texts)
    if (typeof targets === 'string') return targets
    const from = (page - 1) * pageSize
    const wanted: PageRows =
      seek && targets ? { side: seek.side, targets, size: pageSize + 1 } : { range: { from, end: from + pageSize } }
    const found = this.findSlots(conditions, keys, wanted)
    if (found === null) return 'index'
    const { total, slots, way } = found
    const { printers } = coded.rowCodes
    const rows = new FoundRows(slots, store, printers, uncodedRows)
    if (choice === null || choice.related.length === 0) return { total, rows, way }
    const related = lookUp.columnsOf(slots, choice.related, tables)
    if (typeof related === 'string') return related
    return { total, rows: new RowsWithRelated(rows, printers.length, related), way }
  }

  /** Finds the rows of a page. Returns null if an index is missing. */
  private findSlots(conditions: readonly Condition[], keys: readonly PageKey[], wanted: PageRows): FoundSlots | null {
    const { bitmaps, store } = this.parts
    const found = conditions.map((condition) => bitmaps.narrow.candidatesOf(condition))
    const [least = null] = found.filter((candidates) => candidates !== null).sort((one, other) => one.count - other.count)
    if (least !== null && least.count <= NARROW_MAX) {
      const others = conditions.filter((_, at) => found[at] !== least)
      return this.findNarrow({ candidates: least, others }, keys, wanted)
    }
    const slices = found.map(onlySliceOf)
    const within = isOneIndex(keys) ? (slices.find((slice) => slice !== null && isOf(slice, keys[0])) ?? null) : null
    // If the list is exactly one slice, the row numbers of the page are positions in the slice, and no bitmap is needed.
    const isSlice = conditions.length === 1 && within !== null && 'range' in wanted
    const rows = isSlice ? { bits: store.liveBits, count: within.count } : bitmaps.rowsOf(conditions)
    return rows && this.findWide(rows, keys, wanted, within)
  }

  private findWide(rows: Rows, keys: readonly PageKey[], wanted: PageRows, within: Slice | null): FoundSlots | null {
    const search = new PageSearch(this.parts.store, this.parts.indexes, keys, this.matchesBuffer)
    const slots =
      'range' in wanted
        ? search.find(rows, clipped(wanted.range, rows.count), within)
        : search.findNextTo(rows, wanted.side, wanted.targets, wanted.size)
    return slots && { total: rows.count, slots, way: search.way }
  }

  /** Finds the page from few candidates, each of which is tested against the remaining conditions. */
  private findNarrow(narrowed: Narrowed, keys: readonly PageKey[], wanted: PageRows): FoundSlots | null {
    const { bitmaps, store } = this.parts
    const { words } = store.kernel
    const base = this.candidatesBuffer >>> 2
    const count = bitmaps.narrow.gather(narrowed, this.candidatesBuffer)
    const slots = words.subarray(base, base + count)
    const slice = onlySliceOf(narrowed.candidates)
    const isSorted = slice !== null && isOneIndex(keys) && isOf(slice, keys[0])
    if (!isSorted && count > GATHERED_MAX)
      return this.findWide(bitmaps.bitmapOf(this.candidatesBuffer, count), keys, wanted, null)
    if (!isSorted && 'range' in wanted) {
      const { from, end } = clipped(wanted.range, count)
      return { total: count, slots: sortedPage(slots, keys, from, end), way: 'gathered' }
    }
    const sorted = isSorted ? slots : Int32Array.from(sortedPage(slots, keys, 0, count))
    if (isSorted && keys[0].isDescending) sorted.reverse()
    const { from, end } = clipped('range' in wanted ? wanted.range : rangeNextTo(sorted, keys, wanted), count)
    return { total: count, slots: sorted.subarray(from, end), way: isSorted ? 'index' : 'gathered' }
  }

  /** Returns the order of a column; null if the order of its texts is not known. */
  private orderOf(column: number, by: IndexedBy): ColumnOrder | null {
    const { store, texts } = this.parts
    if (by === 'codes') return new ColumnOrder(store, column, null)
    return texts.isOrdered(column) ? new ColumnOrder(store, column, texts.ranksOf(column)) : null
  }
}

/** Returns the slice that has all candidates; null if there are several slices. */
function onlySliceOf(candidates: Candidates | null): Slice | null {
  const [slice, ...others] = candidates?.slices ?? []
  return slice === undefined || others.length > 0 ? null : slice
}

/** Returns the range of row numbers that are next to a position. */
function rangeNextTo(
  sorted: Int32Array,
  keys: readonly PageKey[],
  { side, targets, size }: Exclude<PageRows, { range: Range }>,
): Range {
  const isAfter = side === 'after'
  const at = firstNotBefore(0, sorted.length, (number) => {
    const difference = compareTo(sorted[number], keys, targets)
    return difference < 0 || (isAfter && difference === 0)
  })
  return isAfter ? { from: at, end: at + size } : { from: Math.max(0, at - size), end: at }
}

function clipped({ from, end }: Range, total: number): Range {
  return { from: Math.min(from, total), end: Math.min(end, total) }
}

/** Returns whether a slice belongs to the index of a key. */
function isOf({ index }: Slice, { column, by, order }: PageKey): boolean {
  return index.order.column === column && (by === 'ranks') === (index.order.ranks !== null) && order.column === column
}
