import { compilePredicate } from '../model/predicate.ts'
import type { Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { Coded, Condition } from './conditions.ts'

/** Null: a text of the row has no rank. */
type RowTest = (row: Row) => boolean | null

/**
 * Whether a row matches that is not in the columns. The order of texts, which TypeScript does not know, is that of their ranks.
 * Null: it cannot be known of any row.
 */
export function rowTestOf(table: Coded, filters: readonly Filter[], conditions: readonly Condition[]): RowTest | null {
  const isPlain = (filter: Filter) => compilePredicate(table.entity, [filter]) !== null
  const plain = filters.filter(isPlain)
  const matches = compilePredicate(table.entity, plain)
  const byRank = conditions.filter((condition) => condition.byRank)
  if (!matches || (plain.length < filters.length && byRank.length === 0)) return null
  return (row) => {
    if (!matches(row)) return false
    const results = byRank.map((condition) => isWithin(table, condition, row))
    return results.includes(false) ? false : results.includes(null) ? null : true
  }
}

function isWithin({ rowCodes }: Coded, { place, least, greatest, byRank }: Condition, row: Row): boolean | null {
  const text = row[place] as string | null
  if (text === null) return false
  const code = rowCodes.find(place, text)
  if (code === null || !byRank) return null
  const rank = byRank.rankOf(code)
  return least <= rank && rank <= greatest
}
