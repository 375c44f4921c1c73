import { order } from '../model/order.ts'
import type { Sort } from '../model/query.ts'
import type { Coded } from './conditions.ts'
import type { RankTable } from './rankTable.ts'

/** One key of an order. */
export interface PageKey {
  readonly column: number
  readonly isDescending: boolean
  /** Ranks of texts; null for other kinds. */
  readonly ranks: RankTable | null
}

/** The keys of the order of a list; null: how a text lies is not known. */
export function pageKeysOf({ entity, rowCodes, ranks, uncoded }: Coded, sorts: readonly Sort[]): PageKey[] | null {
  const keys: PageKey[] = []
  for (const { property, descending } of order(entity, sorts)) {
    const column = entity.properties.indexOf(property)
    const own = ranks[column] ?? null
    const dictionary = rowCodes.dictionaries[column]
    if ((dictionary && !own?.knows(dictionary.size)) || (uncoded[column] as number) > 0) return null
    keys.push({ column, isDescending: descending, ranks: own })
  }
  return keys
}
