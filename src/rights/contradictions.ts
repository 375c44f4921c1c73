// Finds filters that no row can match together.
import { equalityHolds, isEquality } from '../model/equalities.ts'
import { equality } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { listed } from '../parse/names.ts'
import { isOpen } from './openFilter.ts'
import { printFilter } from './print.ts'

/**
 * Returns a message that names filters which contradict each other, such as two `=` filters by one property; null if a row can
 * match all filters.
 */
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

/** Returns the values that a filter with `=` or `[]` admits; null for other operators, or if the values are not known yet. */
export function valuesOf(filter: Filter): readonly (string | null)[] | null {
  if (isOpen(filter)) return null
  const { operator, value, anyOf } = filter
  return anyOf ?? (operator === equality ? [value] : null)
}
