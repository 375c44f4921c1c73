// Cost of lists: an estimate from the query, before PostgreSQL reads anything.
import type { Entity, Property } from './entity.ts'
import type { Filter, FiltersAndSorts } from './query.ts'
import { order } from './query.ts'

/** Estimated cost of a list. */
export interface ListCost {
  /**
   * Column and id, such as `employee_id 7`. All rows of the list refer to the row with this id, so the list is short. Null: the
   * filters do not require such a reference.
   */
  readonly parentRow: string | null
  /**
   * True if PostgreSQL reads or sorts the whole table. If `parentRow` is set, it reads or sorts only the rows that refer to the
   * parent row.
   */
  readonly isCostly: boolean
}

/** Estimates the cost of a list: folded texts, properties without an index, and sorts by several properties are costly. */
export function listCostOf(entity: Entity, { filters, sorts }: FiltersAndSorts): ListCost {
  const keys = order(entity, sorts)
  // Each index has one property and the id, so it has the order of one property only.
  const hasOrder = keys.length <= 2 && keys.every(({ property }) => hasIndex(property))
  return { parentRow: parentRowOf(filters), isCostly: !hasOrder || !filters.every(hasRange) }
}

/** Returns whether an index finds the rows that match a filter; for a union, the rows of each alternative. */
function hasRange({ property, operator, either }: Filter): boolean {
  if (either) return either.every((filters) => filters.every(hasRange))
  return operator.folded === null && !operator.isChain && hasIndex(property)
}

/**
 * Returns column and id, such as `employee_id 7`, if all matching rows refer to the row with this id. For a union, returns a
 * column and an id for each alternative. Returns null if the filters do not require such a reference.
 */
export function parentRowOf(filters: readonly Filter[]): string | null {
  for (const { property, operator, value, either } of filters) {
    if (property.reference && property.related === null && operator.sign === '=' && value !== null)
      return `${property.column} ${value}`
    const parents = (either ?? []).map(parentRowOf)
    if (parents.length > 0 && !parents.includes(null)) return parents.join(' | ')
  }
  return null
}

function hasIndex({ indexed, unique }: Property): boolean {
  return indexed || unique !== null
}
