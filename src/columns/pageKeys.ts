// Sort keys of a page: compare rows, sort a few rows, and find the positions of cursors.

import { isKeptAsText } from '../model/kinds.ts'
import { order, type Seek, type Sort } from '../model/query.ts'
import type { ColumnOrder, Target } from './columnOrder.ts'
import { ID } from './columnStore.ts'
import type { Coded, KnownTexts, Reason } from './conditions.ts'
import type { IndexedBy } from './indexes.ts'

/** One of the keys by which a list is sorted. */
export interface PageKey {
  readonly column: number
  readonly by: IndexedBy
  readonly isDescending: boolean
  readonly order: ColumnOrder
}

/**
 * Returns the keys by which a list is sorted, the id last; or the reason why codes cannot decide the order. `orderOf`: returns
 * null if the order of a column's texts is not known.
 */
export function pageKeysOf(
  { entity, uncoded }: Coded,
  sorts: readonly Sort[],
  orderOf: (column: number, by: IndexedBy) => ColumnOrder | null,
): PageKey[] | Reason {
  const keys: PageKey[] = []
  for (const { property, descending } of order(entity, sorts)) {
    const column = entity.properties.indexOf(property)
    if (uncoded[column] > 0) return 'values'
    const by = isKeptAsText(property.kind.name) ? 'ranks' : 'codes'
    const own = orderOf(column, by)
    if (own === null) return 'texts'
    keys.push({ column, by, isDescending: descending, order: own })
  }
  return keys
}

/**
 * Returns whether the index of the first key has the whole order of the list: rows are sorted by this key, and then by the id in
 * the same direction.
 */
export function isOneIndex(keys: readonly PageKey[]): boolean {
  const [first, second] = keys
  return first.column === ID || (keys.length === 2 && second.isDescending === first.isDescending)
}

/** Returns a target for each key of a position. All targets have the id of the position. */
export function targetsOf(
  { entity, rowCodes }: Coded,
  keys: readonly PageKey[],
  position: Seek['position'],
  texts: KnownTexts,
): Target[] | Reason {
  const id = Number(position[keys.length - 1])
  const targets: Target[] = []
  for (const [index, { column, by, order: own }] of keys.entries()) {
    const text = position[index]
    if (by === 'codes' || text === null) {
      const code = rowCodes.find(column, text)
      // The value of the position has no code.
      if (code === null) return 'values'
      targets.push(own.targetAt(code, id))
      continue
    }
    const bound = texts.boundOf(column, entity.properties[column].kind.printFilter(text))
    if (bound === null) return 'texts'
    // A text that no row has gets a position between two ranks.
    targets.push({ high: 0, low: bound.equal ?? bound.bound - 0.5, id })
  }
  return targets
}

/** Compares a row with a position by the keys. Returns 0 if they are equal. */
export function compareTo(slot: number, keys: readonly PageKey[], targets: readonly Target[]): number {
  for (let at = 0; at < keys.length; at++) {
    const { order: own, isDescending } = keys[at]
    const { high, low } = targets[at]
    const difference = own.highKey(slot) - high || own.lowKey(slot) - low
    if (difference !== 0) return isDescending ? -difference : difference
  }
  return 0
}

/** Compares two rows by the keys from the index `from` on. The last key is the id. */
function compareRows(one: number, other: number, keys: readonly PageKey[], from = 0): number {
  for (let at = from; at < keys.length; at++) {
    const difference = keys[at].order.compare(one, other)
    if (difference !== 0) return keys[at].isDescending ? -difference : difference
  }
  return 0
}

/** Maximum number of rows that are sorted as floats. Such a float combines the first key of a row with the index of the row. */
const SORTED_MAX = 1 << 16
/** Maximum range of first keys that a float holds exactly together with the index of a row. */
const KEYS_MAX = 2 ** 53 / SORTED_MAX

/**
 * Returns the slots at the indexes `[from, end)` after sorting by some keys. It sorts numbers that combine the first key with the
 * index of the row. Only rows of the page that have the same first key are compared by the other keys.
 */
export function sortedPage(slots: Int32Array, keys: readonly PageKey[], from: number, end: number): number[] {
  const [{ order: own, isDescending }] = keys
  const packed = new Float64Array(slots.length)
  let least = Number.POSITIVE_INFINITY
  let greatest = Number.NEGATIVE_INFINITY
  for (let at = 0; at < slots.length; at++) {
    const key = own.numberOf(slots[at])
    packed[at] = key
    if (key < least) least = key
    if (key > greatest && key < Number.POSITIVE_INFINITY) greatest = key
  }
  if (slots.length > SORTED_MAX || Math.abs(least) >= KEYS_MAX || greatest - least >= KEYS_MAX - 1)
    return Array.from(slots)
      .sort((one, other) => compareRows(one, other, keys))
      .slice(from, end)
  const none = greatest - least + 1
  for (let at = 0; at < packed.length; at++) {
    const key = packed[at] === Number.POSITIVE_INFINITY ? none : packed[at] - least
    packed[at] = key * SORTED_MAX + at
  }
  packed.sort()
  if (isDescending) packed.reverse()
  const keyAt = (at: number) => Math.floor(packed[at] / SORTED_MAX)
  const found: number[] = []
  let begin = from
  while (begin > 0 && keyAt(begin - 1) === keyAt(begin)) begin--
  while (begin < end) {
    let next = begin + 1
    while (next < packed.length && keyAt(next) === keyAt(begin)) next++
    const run: number[] = []
    for (let at = begin; at < next; at++) run.push(slots[packed[at] % SORTED_MAX])
    if (run.length > 1) run.sort((one, other) => compareRows(one, other, keys, 1))
    for (let at = Math.max(begin, from); at < Math.min(next, end); at++) found.push(run[at - begin])
    begin = next
  }
  return found
}
