import type { Filter } from '../model/query.ts'
import type { ClusteredRows } from './clusteredRows.ts'
import type { Clusters } from './clusters.ts'
import type { Bounds, Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { LastMatches } from './lastMatches.ts'
import { matchesOf } from './matches.ts'
import { type Cutting, PageSearch } from './page.ts'
import type { PageKey } from './pageKeys.ts'
import { type RepeatedList, RepeatedLists } from './repeated.ts'
import type { SegmentedRows } from './segmentedRows.ts'
import { stretchAlong } from './walk.ts'

/** What a list asks for. */
export interface AskedList {
  readonly filters: readonly Filter[]
  /** What the filters ask of codes. */
  readonly conditions: readonly Condition[]
  readonly bounds: Bounds | undefined
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

  count({ filters, conditions, bounds }: AskedList): number {
    const { list } = this.repeated.ask(filters)
    list.total ??= this.lastMatches.of(filters, conditions, bounds).matches.total
    return list.total
  }

  /** The rows [offset, offset + size) of the list, in the order of the keys. */
  page(asked: AskedList, keys: readonly PageKey[], offset: number, size: number): FoundSlots {
    const { list, isRepeated } = this.repeated.ask(asked.filters)
    const startMs = performance.now()
    const near = this.clusters.near(keys[0] as PageKey)
    const found = isRepeated
      ? this.again(asked, keys, offset, size, list, near)
      : this.anew(asked, keys, offset, size, near)
    const { total, rows } = found
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

  private anew(
    { filters, conditions, bounds }: AskedList,
    keys: readonly PageKey[],
    offset: number,
    size: number,
    near: ClusteredRows | null,
  ): FoundSlots {
    const { rows, matches } = this.lastMatches.of(filters, conditions, bounds)
    const { total } = matches
    const end = Math.min(offset + size, total)
    if (near !== null && near !== rows && offset < end) {
      const wanted = { conditions, key: keys[0] as PageKey, total, from: offset, end }
      const stretch = stretchAlong(this.kernel, near, wanted, this.clusters.segmentsWorth(total))
      if (stretch !== null) {
        const slots = new PageSearch(this.kernel, near, keys, conditions, size).findIn(stretch, offset, end)
        return { total, slots, rows: near }
      }
    }
    return { total, slots: new PageSearch(this.kernel, rows, keys, conditions, size).find(matches, offset, size), rows }
  }

  /** Of a list whose other pages are asked for, too: once it is known how its rows lie, each costs little. */
  private again(
    { filters, conditions, bounds }: AskedList,
    keys: readonly PageKey[],
    offset: number,
    size: number,
    list: RepeatedList,
    near: ClusteredRows | null,
  ): FoundSlots {
    const rows = near ?? this.clusters.nearest(conditions)
    const search = new PageSearch(this.kernel, rows, keys, conditions, size)
    let known: Cutting | null = list.cutting(keys)
    // Bitmaps are made for what is asked for here.
    if (known === null) {
      const last = this.lastMatches.of(filters, conditions, bounds)
      const matches = last.rows === rows ? last.matches : matchesOf(this.kernel, rows, conditions)
      known = search.firstCutting(matches)
      if (known === null) return { total: matches.total, slots: search.find(matches, offset, size), rows }
      list.keep(keys, known)
    }
    this.lastMatches.forget()
    return { total: known.total, slots: search.find(known, offset, size), rows }
  }
}
