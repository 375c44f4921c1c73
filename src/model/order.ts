import type { Entity, Property } from './entity.ts'
import type { Sort } from './query.ts'

export interface OrderKey {
  readonly property: Property
  readonly descending: boolean
}

/**
 * The sorts as a total order: the id breaks ties, in the direction of the last sort, so that one index on (property, id)
 * has both orders of a property, one of them backwards. Behind the id nothing counts any more.
 */
export function order(entity: Entity, sorts: readonly Sort[]): OrderKey[] {
  const keys: OrderKey[] = []
  let descending = false
  for (const { property, direction } of sorts) {
    descending = direction === 'descending'
    keys.push({ property, descending })
    if (property === entity.id) return keys
  }
  keys.push({ property: entity.id, descending })
  return keys
}

/** The reversed order. */
export function opposite(keys: readonly OrderKey[]): OrderKey[] {
  return keys.map(({ property, descending }) => ({ property, descending: !descending }))
}
