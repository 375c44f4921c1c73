// Paths in rights and requests of the trials: draws them, and follows them to rows and values.
import type { Entity, Property } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { findRelated } from '../../src/parse/paths.ts'
import type { Random } from './random.ts'
import { type Rows, valueIn } from './rightsPairsRows.ts'

/** Finds a row of another entity; null if the row does not exist. */
export type FindRow = (entity: Entity, id: number) => Row | null

/** A property, and the entity that declares it. */
interface Place {
  readonly entity: Entity
  readonly property: Property
}

/** Returns the property to which a path leads; for a property that is no path, the property itself. */
export function endOf(entity: Entity, property: Property): Place {
  const { related } = property
  return related ? endOf(related.view.whole, related.property) : { entity, property }
}

/** Returns the references through which a path leads. */
export function referencesOf(entity: Entity, { related }: Property): Place[] {
  return related ? [{ entity, property: related.reference }, ...referencesOf(related.view.whole, related.property)] : []
}

/** Returns the row to which a path leads; the row itself without a path. */
export function rowBehind(entity: Entity, row: Row, { related }: Property, find: FindRow): Row | null {
  if (!related) return row
  const id = row[entity.properties.indexOf(related.reference)] ?? null
  const next = id === null ? null : find(related.view.whole, Number(id))
  return next && rowBehind(related.view.whole, next, related.property, find)
}

/** Returns the value of a property: the row's own value, or the value to which a path leads. */
export function valueBehind(rows: Rows, entity: Entity, id: number, property: Property): string | null {
  const { related } = property
  if (!related) return valueIn(rows, entity, id, property)
  const referred = valueIn(rows, entity, id, related.reference)
  return referred === null ? null : valueBehind(rows, related.view.whole, Number(referred), related.property)
}

/** Returns whether a chain of references that begins with `value` contains `id`. */
export function isUnder({ entity, property }: Place, value: string | null, id: number, find: FindRow): boolean {
  const visited = new Set<number>()
  const index = entity.properties.indexOf(property)
  for (let next = value; next !== null && !visited.has(Number(next)); next = find(entity, Number(next))?.[index] ?? null) {
    if (Number(next) === id) return true
    visited.add(Number(next))
  }
  return false
}

/**
 * Draws a path that begins with one of these properties; null if there is none. `propertiesOf`: properties of an entity with
 * which a path may end.
 */
export function randomPath(
  random: Random,
  entity: Entity,
  properties: readonly Property[],
  propertiesOf: (entity: Entity) => readonly Property[],
  references = 2,
): Property | null {
  const open = properties.filter(({ reference }) => reference?.target && propertiesOf(reference.target).length > 0)
  if (open.length === 0) return null
  const property = random.pick(open)
  const target = property.reference?.target as Entity
  const own = propertiesOf(target)
  const further = references > 1 && random.chance(30) ? randomPath(random, target, own, propertiesOf, 1) : null
  return findRelated(wholeView(entity), `${property.name}.${(further ?? random.pick(own)).name}`) ?? null
}
