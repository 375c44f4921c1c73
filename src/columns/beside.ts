// Pages by cursor in columns: conditions of the rows before a position of an order. columnTable.ts counts them.
import type { Seek } from '../model/query.ts'
import { nextAbove, nextBelow } from './codes.ts'
import { type Condition, withCode } from './conditions.ts'
import { NO_TEXT } from './dictionary.ts'
import type { PageKey } from './pageKeys.ts'
import type { RowCodes } from './rowCodes.ts'

/** Sets of rows that do not overlap, each by its conditions; the last is the row at the position. Null: codes cannot decide. */
export function setsBefore(keys: readonly PageKey[], rowCodes: RowCodes, position: Seek['position']): Condition[][] | null {
  const sets: Condition[][] = []
  const equal: Condition[] = []
  for (const [index, key] of keys.entries()) {
    const code = rowCodes.find(key.column, position[index] as string | null)
    // A text that no row has any more, or a number that has no code.
    if (code === null) return null
    const isNone = rowCodes.dictionaries[key.column] === null ? Number.isNaN(code) : code === NO_TEXT
    for (const condition of beforeOf(key, code, isNone)) sets.push([...equal, condition])
    equal.push(withCode(key.column, code))
  }
  sets.push(equal)
  return sets
}

const ALL = { least: Number.NEGATIVE_INFINITY, greatest: Number.POSITIVE_INFINITY }

/** Rows without a value come last, and first where the order descends. */
function beforeOf({ column, isDescending, ranks }: PageKey, code: number, isNone: boolean): Condition[] {
  const own = ranks === null || isNone ? code : ranks.rankOf(code)
  const valued = { column, ...ALL, isComplement: false, byRank: ranks }
  if (isNone && isDescending) return []
  if (isNone) return [ranks === null ? valued : { ...valued, byRank: null, least: NO_TEXT + 1 }]
  // Nothing lies beyond the infinite ones: NaN of decimals, and the infinite instants.
  const isFirst = own === (isDescending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  if (!isDescending) return isFirst ? [] : [{ ...valued, greatest: ranks === null ? nextBelow(own) : own - 1 }]
  const without =
    ranks === null ? { ...valued, isComplement: true } : { ...valued, byRank: null, least: NO_TEXT, greatest: NO_TEXT }
  return isFirst ? [without] : [{ ...valued, least: ranks === null ? nextAbove(own) : own + 1 }, without]
}
