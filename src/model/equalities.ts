// Evaluates equality filters, with the same results as PostgreSQL. Filters by order depend on PostgreSQL's collations, and
// searches for parts of texts depend on how it folds texts, so only PostgreSQL evaluates these.
import { memoize } from './memoize.ts'
import type { Filter } from './query.ts'

/** Returns whether a filter only compares for equality, as `=`, `!=` and `[]` do. */
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

/** Returns the operands of a filter as their column prints them; null stands for "no value". */
const printedOperands = memoize(({ property: { kind }, value, anyOf = [value] }: Filter): ReadonlySet<string | null> => {
  return new Set(anyOf.map((one) => (one === null ? null : kind.printFilter(one))))
})
