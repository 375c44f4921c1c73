// Demands of lists: what a query tells of the work for PostgreSQL before it is read.
import type { Entity, Property } from './entity.ts'
import type { Filter, FiltersAndSorts } from './query.ts'
import { order } from './query.ts'

/** Properties of a list that tell its cost before it is read. */
export interface ListCost {
  /** Name of the row that all rows of the list refer to, so that they are few; null: they refer to none in common. */
  readonly parentRow: string | null
  /** True if PostgreSQL reads or sorts all rows, unless they are few. */
  readonly isCostly: boolean
}

/** The demand of a list: costly are texts that are folded, properties without an index, and sorts by several of them. */
export function listCostOf(entity: Entity, { filters, sorts }: FiltersAndSorts): ListCost {
  const keys = order(entity, sorts)
  // Each index has one property and the id.
  const hasOrder = keys.length <= 2 && keys.every(({ property }) => hasIndex(property))
  const hasRanges = filters.every(({ property, operator }) => operator.folded === null && hasIndex(property))
  return { parentRow: parentRowOf(filters), isCostly: !hasOrder || !hasRanges }
}

/** Name of the row that rows which match these filters all refer to; null: they refer to none in common. */
export function parentRowOf(filters: readonly Filter[]): string | null {
  for (const { property, operator, value } of filters)
    if (property.reference && operator.sign === '=' && value !== null) return `${property.column} ${value}`
  return null
}

function hasIndex({ indexed, unique }: Property): boolean {
  return indexed || unique !== null
}
