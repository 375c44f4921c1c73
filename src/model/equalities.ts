// Filters by equality, which this process decides exactly as PostgreSQL does. Order depends on its collations, parts of texts on
// how it folds them.
import type { Filter } from './query.ts'

/** Returns whether a filter is by equality alone, as those with `=`, `!=` and `[]` are. */
export function isEquality({ operator: { isAny, sides } }: Pick<Filter, 'operator'>): boolean {
  return isAny || (sides !== null && sides.less === sides.greater)
}

/** Returns whether a value matches a filter by equality. `printed`: the value as its column prints it. */
export function equalityHolds(
  { property: { kind }, operator: { sides }, value, anyOf }: Filter,
  printed: string | null,
): boolean {
  const isNone = printed === null || (printed === '' && kind.emptyIsNoValue)
  const isEqualTo = (operand: string | null) => (operand === null ? isNone : kind.printFilter(operand) === printed)
  return anyOf ? anyOf.some(isEqualTo) : isEqualTo(value) === sides?.equal
}
