import { LruCache } from '../model/lruCache.ts'
import type { Filter } from '../model/query.ts'
import type { Cutting, PageKey } from './page.ts'

/** With 16 KiB for each order, some 4 MiB for a table. */
const LISTS_MAX = 64
const ORDERS_MAX = 4

/** A list that was asked for, while no row has changed. */
export class RepeatedList {
  /** How many rows match by their codes; null: it was not counted yet. */
  total: number | null = null
  private readonly cuttings = new Map<string, Cutting>()

  /** How its rows lie by the first key of an order; null: not known. */
  cutting(keys: readonly PageKey[]): Cutting | null {
    return this.cuttings.get(orderOf(keys)) ?? null
  }

  keep(keys: readonly PageKey[], cutting: Cutting): void {
    if (this.cuttings.size >= ORDERS_MAX) this.cuttings.delete(this.cuttings.keys().next().value as string)
    this.cuttings.set(orderOf(keys), cutting)
  }
}

/** Lists that were asked for since a row has changed last: other pages of them are found without a look at all their rows. */
export class RepeatedLists {
  private lists: LruCache<RepeatedList> | null = null

  /** The list of these filters, and whether it was asked for before. */
  ask(filters: readonly Filter[]): { readonly list: RepeatedList; readonly isRepeated: boolean } {
    const key = filters
      .map(({ property, operator, value }) => `${property.column}${operator.prefix}${value}`)
      .join('\0')
    this.lists ??= new LruCache(LISTS_MAX, () => 1)
    const before = this.lists.get(key)
    const list = before ?? new RepeatedList()
    if (before === undefined) this.lists.set(key, list)
    return { list, isRepeated: before !== undefined }
  }

  /** A row has changed, or the order of a text. */
  forget(): void {
    this.lists = null
  }
}

function orderOf(keys: readonly PageKey[]): string {
  return keys.map(({ place, isDescending }) => (isDescending ? -1 - place : place)).join()
}
