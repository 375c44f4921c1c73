// Filters that no row can match together.
import { equalityHolds, isEquality } from '../model/equalities.ts'
import { equality } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { listed } from '../parse/names.ts'
import { isOpen } from './openFilter.ts'
import { printFilter } from './print.ts'

/** Says which filters contradict each other, as those of `A` and of `B` by one property; null if a row may match all. */
export function contradictionOf(filters: readonly Filter[]): string | null {
  for (const given of filters) {
    const { kind } = given.property
    const printed = valuesOf(given)?.map((value) => (value === null ? null : kind.printFilter(value)))
    const others = filters.filter((other) => other.property === given.property && isEquality(other) && !isOpen(other))
    if (!printed || printed.some((value) => others.every((other) => equalityHolds(other, value)))) continue
    return `${listed(others.map(printFilter), 'and')} contradict each other: no row matches all of them.`
  }
  return null
}

/** Values that `=` or `[]` admits; null: another operator, or they are not known yet. */
export function valuesOf(filter: Filter): readonly (string | null)[] | null {
  if (isOpen(filter)) return null
  const { operator, value, anyOf } = filter
  return anyOf ?? (operator === equality ? [value] : null)
}
