import type { Entity } from '../model/entity.ts'
import { join, name, type Sql, sql } from '../model/sql.ts'

/** The columns of every property, in the order in which the JSON writers take them. */
export function columns(entity: Entity): Sql {
  return join(
    entity.properties.map((property) => name(property.column)),
    sql`, `,
  )
}
