import type { OrderKey } from '../model/order.ts'
import { join, name, type Sql, sql } from '../model/sql.ts'

/**
 * PostgreSQL's own placing of nulls is the one we want (last ascending, first descending), and the collation is the
 * column's, so each single-property order is that of the index on (column, id), or of that index read backwards.
 */
export function orderBy(keys: readonly OrderKey[]): Sql {
  return join(
    keys.map(({ property, descending }) => (descending ? sql`${name(property.column)} desc` : name(property.column))),
    sql`, `,
  )
}
