import type { OrderKey } from '../../src/model/order.ts'
import { type Compare, compareOf as compareOfKind } from './predicate.ts'

/** A row's values of the keys, as PostgreSQL prints them. */
export type Position = readonly (string | null)[]

/** Which of two positions comes first, as PostgreSQL orders them: below 0, 0, above 0. Null: it alone can decide. */
export function comparePositions(keys: readonly OrderKey[]): ((one: Position, other: Position) => number) | null {
  const compares = keys.map(({ property }) => compareOfKind(property.kind))
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
