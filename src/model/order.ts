import type { Entity, Property } from './entity.ts'
import type { Sort } from './query.ts'

export interface OrderKey {
  readonly property: Property
  readonly descending: boolean
}

/** The sorts as a total order: the id, ascending, breaks ties; behind the id nothing counts any more. */
export function order(entity: Entity, sorts: readonly Sort[]): OrderKey[] {
  const keys: OrderKey[] = []
  for (const { property, direction } of sorts) {
    keys.push({ property, descending: direction === 'descending' })
    if (property === entity.id) return keys
  }
  keys.push({ property: entity.id, descending: false })
  return keys
}

/** The same order from the other end. */
export function opposite(keys: readonly OrderKey[]): OrderKey[] {
  return keys.map(({ property, descending }) => ({ property, descending: !descending }))
}
