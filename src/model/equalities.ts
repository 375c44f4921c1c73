// Filters by equality, which this process decides exactly as PostgreSQL does. Order depends on its collations, parts of texts on
// how it folds them.
import { memoize } from './memoize.ts'
import type { Filter } from './query.ts'

/** Returns whether a filter is by equality alone, as those with `=`, `!=` and `[]` are. */
export function isEquality({ operator: { isAny, sides } }: Pick<Filter, 'operator'>): boolean {
  return isAny || (sides !== null && sides.less === sides.greater)
}

/** Returns whether a value matches a filter by equality. `printed`: the value as its column prints it. */
export function equalityHolds(filter: Filter, printed: string | null): boolean {
  const { property, operator, anyOf } = filter
  const isNone = printed === null || (printed === '' && property.kind.emptyIsNoValue)
  const isAmong = printedOperands(filter).has(isNone ? null : printed)
  return anyOf ? isAmong : isAmong === operator.sides?.equal
}

/** Operands of a filter as their column prints them; null: no value. */
const printedOperands = memoize(({ property: { kind }, value, anyOf = [value] }: Filter): ReadonlySet<string | null> => {
  return new Set(anyOf.map((one) => (one === null ? null : kind.printFilter(one))))
})
