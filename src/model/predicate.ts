import type { Entity } from './entity.ts'
import type { ValueTest } from './operators.ts'
import type { Filter } from './query.ts'
import type { Row } from './sql.ts'

/**
 * Compiles filters to a test of a row of the entity's properties, in their order: true exactly if their SQL is. Null: only
 * PostgreSQL can decide, as with the order of texts.
 */
export function compilePredicate(entity: Entity, filters: readonly Filter[]): ((row: Row) => boolean) | null {
  const conditions: { place: number; test: ValueTest }[] = []
  for (const filter of filters) {
    const test = testOf(filter)
    if (!test) return null
    conditions.push({ place: entity.properties.indexOf(filter.property), test })
  }
  return (row) => {
    for (const { place, test } of conditions) if (!test(row[place] as string | null)) return false
    return true
  }
}

/** Prepares the operand, once for all rows. */
function testOf({ property: { kind }, operator, value }: Filter): ValueTest | null {
  if (value !== null) return operator.test(kind, kind.printFilter(value))
  if (!operator.testEmpty) throw new Error(`operator ${operator.prefix} without a value`)
  return operator.testEmpty(kind.emptyIsNoValue)
}
