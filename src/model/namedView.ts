// Named views: read-only collections that show some rows and properties of an entity at a separate path. D105
import type { Entity, Filter } from './entity.ts'

/**
 * A read-only collection of rows of an entity. The name of a view is also its path: `Directory`. The properties of a view are the
 * same objects as those of the entity.
 */
export interface NamedView extends Entity {
  /** The entity whose rows the view shows. Statements, copies and columns are always those of the entity. */
  readonly base: Entity
  /** Conditions of the rows; they can name properties that the view does not show. */
  readonly filters: readonly Filter[]
  /** Definition of the view in canonical form: `view Directory Employees?EmploymentEnd=&fields=Id,DisplayName`. */
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

/** Returns the conditions that every row of a collection meets; empty for an entity. */
export function filtersOf(collection: Collection): readonly Filter[] {
  return isNamedView(collection) ? collection.filters : []
}
