import type { Filter } from '../model/query.ts'
import type { Clusters } from './clusters.ts'
import type { Bounds, Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { LastMatches, type Matched } from './lastMatches.ts'
import { matchesOf } from './matches.ts'
import { type Cutting, PageSearch } from './page.ts'
import type { PageKey } from './pageKeys.ts'
import { type RepeatedList, RepeatedLists } from './repeated.ts'
import type { SegmentedRows } from './segmentedRows.ts'
import { stretchAlong } from './walk.ts'

/** A list is asked for so often that to know how its rows lie is worth as much more. */
const REPEATED_WORTH = 8

/** What a list asks for. */
export interface AskedList {
  readonly filters: readonly Filter[]
  /** What the filters ask of codes. */
  readonly conditions: readonly Condition[]
  readonly bounds: Bounds | undefined
}

/** A page of it. */
interface AskedPage extends AskedList {
  readonly keys: readonly PageKey[]
  readonly offset: number
  readonly size: number
}

/** Rows of a list, by their slots in these rows, in the order of the page. */
export interface FoundSlots {
  readonly total: number
  readonly slots: readonly number[]
  readonly rows: SegmentedRows
}

/** Totals and pages of lists, by codes, and what is kept of them until a row changes. */
export class FoundLists {
  private readonly lastMatches: LastMatches
  private readonly repeated = new RepeatedLists()

  constructor(
    private readonly kernel: Kernel,
    private readonly clusters: Clusters,
  ) {
    this.lastMatches = new LastMatches(kernel, clusters)
  }

  /** How many rows of the list meet these conditions, too. */
  countAlso({ conditions }: AskedList, others: readonly Condition[]): number {
    const all = [...conditions, ...others].sort(
      (one, other) => Number(one.byRank !== null) - Number(other.byRank !== null),
    )
    const rows = this.clusters.nearest(all)
    this.lastMatches.forgetAmong(rows)
    return matchesOf(this.kernel, rows, all).total
  }

  /** The rows [offset, offset + size) of the list, in the order of the keys. */
  page(asked: AskedList, keys: readonly PageKey[], offset: number, size: number): FoundSlots {
    const { list, isRepeated } = this.repeated.ask(asked.filters)
    const startMs = performance.now()
    const page = { ...asked, keys, offset, size }
    const cutting = isRepeated ? list.cutting(keys) : null
    const found =
      (cutting === null ? this.fromEnd(page, isRepeated ? list.total : null) : null) ??
      (isRepeated ? this.again(page, list, cutting) : this.anew(page))
    const { total, rows } = found
    list.total = total
    const spentMs = performance.now() - startMs
    this.clusters.note(rows, asked.conditions, total, spentMs)
    this.clusters.noteOrder(rows, keys[0] as PageKey, total, spentMs)
    return found
  }

  /** A row has changed, or the order of a text: nothing holds any more. */
  forget(): void {
    this.lastMatches.forget()
    this.repeated.forget()
  }

  /**
   * From the nearer end of rows that lie by the order; null: there are none, or others are found sooner. `knownTotal`: of a list
   * that was asked for before.
   */
  private fromEnd(page: AskedPage, knownTotal: number | null): FoundSlots | null {
    const { filters, conditions, bounds, keys, offset, size } = page
    const key = keys[0] as PageKey
    const near = this.clusters.near(key)
    if (near === null) return null
    const last = knownTotal === null ? this.lastMatches.of(filters, conditions, bounds) : null
    const total = knownTotal ?? (last as Matched).matches.total
    const end = Math.min(offset + size, total)
    if (offset >= end || near === (last?.rows ?? this.clusters.nearest(conditions))) return null
    const segmentsMax = this.clusters.segmentsWorth(total) / (knownTotal === null ? 1 : REPEATED_WORTH)
    this.lastMatches.forgetAmong(near)
    const stretch = stretchAlong(this.kernel, near, { conditions, key, total, from: offset, end }, segmentsMax)
    return stretch && { total, slots: this.searchIn(near, page).findIn(stretch, offset, end), rows: near }
  }

  private anew(page: AskedPage): FoundSlots {
    const { rows, matches } = this.lastMatches.of(page.filters, page.conditions, page.bounds)
    return { total: matches.total, slots: this.searchIn(rows, page).find(matches, page.offset, page.size), rows }
  }

  /** Of a list whose other pages are asked for, too: once it is known how its rows lie, each costs little. */
  private again(page: AskedPage, list: RepeatedList, cutting: Cutting | null): FoundSlots {
    const { filters, conditions, bounds, keys, offset, size } = page
    const rows = this.clusters.near(keys[0] as PageKey) ?? this.clusters.nearest(conditions)
    const search = this.searchIn(rows, page)
    let known = cutting
    if (known === null) {
      const last = this.lastMatches.of(filters, conditions, bounds)
      const matches = last.rows === rows ? last.matches : matchesOf(this.kernel, rows, conditions)
      known = search.firstCutting(matches)
      if (known === null) return { total: matches.total, slots: search.find(matches, offset, size), rows }
      list.keep(keys, known)
    }
    this.lastMatches.forgetAmong(rows)
    return { total: known.total, slots: search.find(known, offset, size), rows }
  }

  private searchIn(rows: SegmentedRows, { keys, conditions, size }: AskedPage): PageSearch {
    return new PageSearch(this.kernel, rows, keys, conditions, size)
  }
}
