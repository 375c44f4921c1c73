import type { Entity, Property } from './entity.ts'
import type { Compare } from './printed.ts'
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

/** The same order from the other end. */
export function opposite(keys: readonly OrderKey[]): OrderKey[] {
  return keys.map(({ property, descending }) => ({ property, descending: !descending }))
}

/** A row's values of the keys, as PostgreSQL prints them. */
export type Position = readonly (string | null)[]

/** Which of two positions comes first, as PostgreSQL orders them: below 0, 0, above 0. Null: it alone can decide. */
export function comparePositions(keys: readonly OrderKey[]): ((one: Position, other: Position) => number) | null {
  const compares = keys.map(({ property }) => property.kind.compare)
  if (compares.includes(null)) return null
  return (one, other) => {
    for (let index = 0; index < keys.length; index++) {
      const [first, second] = [one[index] as string | null, other[index] as string | null]
      // Nothing is greater than having no value.
      const order =
        first === null || second === null
          ? Number(first === null) - Number(second === null)
          : (compares[index] as Compare)(first, second)
      if (order !== 0) return (keys[index] as OrderKey).descending ? -order : order
    }
    return 0
  }
}
