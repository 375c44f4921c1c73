// Sort keys of a page in columns: the sorting of a few rows by them, and conditions of the rows before a position of a cursor.
import { order, type Seek, type Sort } from '../model/query.ts'
import { compareCodes, nextBelow } from './codes.ts'
import { type Coded, type Condition, ranksOf, withCode } from './conditions.ts'
import type { RankTable } from './rankTable.ts'
import type { RowCodes } from './rowCodes.ts'
import type { RowStore } from './rowStore.ts'

/** One key of an order. */
export interface PageKey {
  readonly column: number
  readonly isDescending: boolean
  /** Ranks of texts; null for other kinds. */
  readonly ranks: RankTable | null
}

/** The keys of a list's order; null: the order of its texts is unknown, or a value has no code. */
export function pageKeysOf(coded: Coded, sorts: readonly Sort[]): PageKey[] | null {
  const keys: PageKey[] = []
  for (const { property, descending } of order(coded.entity, sorts)) {
    const column = coded.entity.properties.indexOf(property)
    const ranks = ranksOf(coded, column)
    if (ranks === undefined || coded.uncoded[column] > 0) return null
    keys.push({ column, isDescending: descending, ranks })
  }
  return keys
}

/** Slots of rows in the order of some keys, the last of which is the id. */
export function sortSlots(slots: Int32Array, keys: readonly PageKey[], rows: RowStore): Int32Array {
  const values = keys.map((key) => valuesOf(slots, key, rows))
  return sortBy(slots, keys, values)
}

/** Numbers, at most 65,536, in the order of the values that each has by each key. */
export function sortBy(
  numbers: Int32Array,
  keys: readonly { readonly isDescending: boolean }[],
  values: readonly Float64Array[],
): Int32Array {
  const order = new Uint16Array(numbers.length)
  for (let at = 0; at < order.length; at++) order[at] = at
  order.sort((one, other) => {
    for (let level = 0; level < keys.length; level++) {
      const own = values[level]
      const difference = compareCodes(own[one], own[other])
      if (difference !== 0) return keys[level].isDescending ? -difference : difference
    }
    return 0
  })
  const sorted = new Int32Array(order.length)
  for (let at = 0; at < order.length; at++) sorted[at] = numbers[order[at]]
  return sorted
}

function valuesOf(slots: Int32Array, { column, ranks }: PageKey, rows: RowStore): Float64Array {
  const values = new Float64Array(slots.length)
  for (let at = 0; at < slots.length; at++) {
    const code = rows.codeAt(slots[at], column)
    values[at] = ranks === null ? code : ranks.rankOf(code)
  }
  return values
}

/** Sets of rows that do not overlap, each by its conditions; the last is the row at the position. Null: codes cannot decide. */
export function setsBefore(keys: readonly PageKey[], rowCodes: RowCodes, position: Seek['position']): Condition[][] | null {
  const sets: Condition[][] = []
  const equal: Condition[] = []
  for (const [index, key] of keys.entries()) {
    const code = rowCodes.find(key.column, position[index])
    // A text that no row has any more, or a number that has no code.
    if (code === null) return null
    const before = conditionBefore(key, code)
    if (before !== null) sets.push([...equal, before])
    equal.push(withCode(key.column, code))
  }
  sets.push(equal)
  return sets
}

/** Rows without a value come last, and first where the order descends. Null: no row can come before. */
function conditionBefore({ column, isDescending, ranks }: PageKey, code: number): Condition | null {
  if (Number.isNaN(code)) return isDescending ? null : withCode(column, code, true)
  const own = ranks === null ? code : ranks.rankOf(code)
  if (isDescending) return { column, least: -Infinity, greatest: own, isComplement: true, byRank: ranks }
  const greatest = ranks === null ? nextBelow(own) : own - 1
  return greatest < own ? { column, least: -Infinity, greatest, isComplement: false, byRank: ranks } : null
}
