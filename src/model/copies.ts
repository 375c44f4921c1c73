// References between entities: finds columns that refer to an entity and properties that are copied, and sorts entities so that
// referred ones come first.
import { type Entity, keyColumnOf, type Property } from './entity.ts'

/** Returns the properties of `entity` that are copied into rows of `entities`. */
export function copiedProperties(entity: Entity, entities: readonly Entity[]): Property[] {
  const copies = entities
    .flatMap(({ properties }) => properties)
    .flatMap(({ reference }) => (reference?.copy && reference.table === entity.table ? [reference.copy.sourceColumn] : []))
  return entity.properties.filter(({ column }) => copies.includes(keyColumnOf(column)))
}

/**
 * Returns the columns through which clients change a property: its own column, the columns from which it is computed, or the
 * reference along which it is copied.
 */
export function writableSourcesOf(entity: Entity, { column, writable, computedFrom }: Property): string[] {
  if (writable) return [column]
  const { properties } = entity
  const copying = properties.find(({ reference }) => reference?.copy?.column === column)
  if (copying) return [copying.column]
  return properties.filter((other) => computedFrom.includes(other.column)).flatMap((other) => writableSourcesOf(entity, other))
}

/** A column that holds ids of an entity's rows. */
export interface ReferringColumn {
  /** The entity that has the column. */
  readonly entity: Entity
  readonly table: string
  /** Name of the column's property. */
  readonly property: string
  readonly column: string
  readonly isCopying: boolean
}

/** Returns the columns of `entities` that refer to rows of `entity`. */
export function referringColumns(entity: Entity, entities: readonly Entity[]): ReferringColumn[] {
  return entities.flatMap((referring) =>
    referring.properties.flatMap(({ name, column, reference }) => {
      if (reference?.table !== entity.table) return []
      return [{ entity: referring, table: referring.table, property: name, column, isCopying: reference.copy !== null }]
    }),
  )
}

/**
 * Finds the references of an entity to itself along which a property is copied. Returns for each the indexes of three properties:
 * the reference, the copy, and the source of the copy.
 */
export function selfCopiesOf({ properties, table }: Entity) {
  const indexOf = (column: string) => properties.findIndex((property) => property.column === column)
  return properties.flatMap(({ reference }, index) =>
    reference?.copy && reference.table === table
      ? [{ reference: index, copy: indexOf(reference.copy.column), source: indexOf(reference.copy.source) }]
      : [],
  )
}

/** Sorts entities so that each comes after the entities that it refers to; in a cycle the order is arbitrary. */
export function referredFirst(entities: readonly Entity[]): Entity[] {
  const seen = new Set<Entity>()
  const ordered: Entity[] = []
  const add = (entity: Entity) => {
    if (seen.has(entity)) return
    seen.add(entity)
    for (const { reference } of entity.properties) for (const other of entities) if (other.table === reference?.table) add(other)
    ordered.push(entity)
  }
  for (const entity of entities) add(entity)
  return ordered
}
