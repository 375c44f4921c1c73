import type { Entity } from '../model/entity.ts'
import { join, name, type Sql, sql } from '../model/sql.ts'

/** The columns of every property, in the order in which the JSON writers take them; of `table` where two have them. */
export function columns(entity: Entity, table?: Sql): Sql {
  const prefix = table ? sql`${table}.` : sql``
  return join(
    entity.properties.map((property) => sql`${prefix}${name(property.column)}`),
    sql`, `,
  )
}
