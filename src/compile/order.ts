import type { Entity, Property } from '../model/entity.ts'
import type { Sort } from '../model/query.ts'
import { join, name, type Sql, sql } from '../model/sql.ts'

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

/**
 * PostgreSQL's own placing of nulls is the one we want (last ascending, first descending), and the collation is the
 * column's, so each single-property order is that of the index on (column, id).
 */
export function orderBy(keys: readonly OrderKey[]): Sql {
  return join(
    keys.map(({ property, descending }) => (descending ? sql`${name(property.column)} desc` : name(property.column))),
    sql`, `,
  )
}
