import { LruCache } from '../model/lruCache.ts'
import type { Filter } from '../model/query.ts'
import type { Cutting } from './page.ts'
import type { PageKey } from './pageKeys.ts'

/** With 16 KiB for each order, some 4 MiB for a table. */
const LISTS_MAX = 64
const ORDERS_MAX = 4

/** A list that was asked for, while no row has changed. */
export class RepeatedList {
  /** How many rows match by their codes; null: it was not found yet. */
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

  /** The list of these filters. */
  ask(filters: readonly Filter[]): Asked {
    const key = filters
      // No value is another operand than the text "null".
      .map(({ property, operator, value }) => `${property.column}${operator.prefix}${value === null ? '\0' : value}`)
      .join('\0')
    this.lists ??= new LruCache(LISTS_MAX, () => 1)
    const known = this.lists.get(key)
    if (known !== undefined) return { list: known, isRepeated: true }
    const list = new RepeatedList()
    this.lists.set(key, list)
    return { list, isRepeated: false }
  }

  /** A row has changed, or the order of a text. */
  forget(): void {
    this.lists = null
  }
}

interface Asked {
  readonly list: RepeatedList
  /** Whether it was asked for before. */
  readonly isRepeated: boolean
}

function orderOf(keys: readonly PageKey[]): string {
  return keys.map(({ place, isDescending }) => (isDescending ? -1 - place : place)).join()
}
