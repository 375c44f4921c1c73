// Cost of lists for PostgreSQL, as far as the query tells it before it runs.
import type { Entity, Property } from './entity.ts'
import type { Filter, FiltersAndSorts } from './query.ts'
import { order } from './query.ts'

/** Properties of a list that tell its cost before it runs. */
export interface ListCost {
  /** Identifies the row that all rows of the list refer to, so that they are few; null if there is no such row. */
  readonly parentRow: string | null
  /** True if PostgreSQL may have to read or sort all rows. */
  readonly isCostly: boolean
}

/** Estimates a list's cost: folded texts, properties without an index, and sorts by several properties are costly. */
export function listCostOf(entity: Entity, { filters, sorts }: FiltersAndSorts): ListCost {
  const keys = order(entity, sorts)
  // Each index has one property and the id.
  const hasOrder = keys.length <= 2 && keys.every(({ property }) => hasIndex(property))
  const hasRanges = filters.every(({ property, operator }) => operator.folded === null && hasIndex(property))
  return { parentRow: parentRowOf(filters), isCostly: !hasOrder || !hasRanges }
}

/** Identifies the row that all rows matching these filters refer to; null if there is no such row. */
export function parentRowOf(filters: readonly Filter[]): string | null {
  for (const { property, operator, value } of filters)
    if (property.reference && operator.sign === '=' && value !== null) return `${property.column} ${value}`
  return null
}

function hasIndex({ indexed, unique }: Property): boolean {
  return indexed || unique !== null
}
