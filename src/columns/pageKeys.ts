import { order } from '../model/order.ts'
import type { Sort } from '../model/query.ts'
import type { Coded } from './conditions.ts'
import type { RankTable } from './rankTable.ts'

/** One key of an order. */
export interface PageKey {
  readonly place: number
  readonly isDescending: boolean
  /** Of texts. */
  readonly ranks: RankTable | null
}

/** The keys of the order of a list; null: how a text lies is not known. */
export function pageKeysOf({ entity, rowCodes, ranks }: Coded, sorts: readonly Sort[]): PageKey[] | null {
  const keys: PageKey[] = []
  for (const { property, descending } of order(entity, sorts)) {
    const place = entity.properties.indexOf(property)
    const own = ranks[place] ?? null
    const dictionary = rowCodes.dictionaries[place]
    if (dictionary && !own?.knows(dictionary.size)) return null
    keys.push({ place, isDescending: descending, ranks: own })
  }
  return keys
}
