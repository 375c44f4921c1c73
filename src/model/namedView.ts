// Named views: read-only collections that show some rows and properties of an entity at a path of their own. D105
import type { Entity, Filter } from './entity.ts'

/**
 * A read-only collection of rows of an entity. Its name is its path, too: `Directory`. Its properties are the entity's own
 * objects.
 */
export interface NamedView extends Entity {
  /** The entity whose rows it shows. Statements, copies and columns are always those of the entity. */
  readonly base: Entity
  /** Conditions of its rows, which may name properties that it does not show. */
  readonly filters: readonly Filter[]
  /** Its definition in canonical form: `view Directory Employees?EmploymentEnd=&fields=Id,DisplayName`. */
  readonly text: string
}

/** An entity or a named view: rights name both. */
export type Collection = Entity | NamedView

export function isNamedView(collection: Collection): collection is NamedView {
  return 'base' in collection
}

/** Returns the entity whose rows a collection has. */
export function baseOf(collection: Collection): Entity {
  return isNamedView(collection) ? collection.base : collection
}

/** Returns the conditions of all rows of a collection: none for an entity. */
export function filtersOf(collection: Collection): readonly Filter[] {
  return isNamedView(collection) ? collection.filters : []
}
