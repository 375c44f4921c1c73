import type { Entity, Property, Reference, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import {
  integer,
  join,
  name,
  type Param,
  param,
  type Sql,
  type Statement,
  sql,
  toStatement,
  typeName,
} from '../model/sql.ts'

/**
 * Why a row cannot be written: a row of the answer for each column whose reference names no row, and for each rule that
 * the row's other values would break, by its constraint; `id`, where there is no row to change. `id` null: a new row.
 * Null: nothing can be wrong with it.
 */
export function compileRefusals(entity: Entity, id: string | null, changes: Assignments): Statement | null {
  const checks = [...changes].flatMap(([property, value]) =>
    property.reference && value !== null ? [missing(property, property.reference, param(value))] : [],
  )
  if (id !== null) {
    const own = param(id)
    checks.push(...entity.rules.flatMap((rule) => broken(entity, rule, own, changes)))
    checks.push(
      sql`select ${param('id')}::text where not exists (select from ${name(entity.table)} where id = ${own}::bigint)`,
    )
  }
  return checks.length === 0 ? null : toStatement(join(checks, sql` union all `))
}

/**
 * Which references of new rows name no row: of each, the number of its row, from 1, and its column; the first `most` of them.
 * `ids`: an array of PostgreSQL for each of these properties. Null: there are no references.
 */
export function compileRowRefusals(
  references: readonly Property[],
  ids: readonly string[],
  most: number,
): Statement | null {
  if (references.length === 0) return null
  const checks = references.map(({ column, reference }, index) => {
    const rows = sql`unnest(${param(ids[index] as string)}::bigint[]) with ordinality as b(id, "N")`
    const table = name((reference as Reference).table)
    return sql`select b."N" as "N", ${param(column)}::text as "Column" from ${rows} where b.id is not null and not exists (select from ${table} as t where t.id = b.id)`
  })
  return toStatement(
    sql`select "N"::text, "Column" from (${join(checks, sql` union all `)}) as missing order by missing."N" limit ${integer(most)}`,
  )
}

function missing({ column }: Property, { table }: Reference, id: Param): Sql {
  return sql`select ${param(column)}::text where not exists (select from ${name(table)} where id = ${id}::bigint)`
}

/** Two values that are changed both have been held against each other already. */
function broken({ table }: Entity, { later, earlier, constraint }: Rule, id: Param, changes: Assignments): Sql[] {
  if (changes.has(later) === changes.has(earlier)) return []
  const side = (property: Property) =>
    changes.has(property)
      ? sql`${param(changes.get(property) ?? null)}::${typeName(property.kind.columnType)}`
      : name(property.column)
  return [
    sql`select ${param(constraint)}::text from ${name(table)} where id = ${id}::bigint and ${side(later)} < ${side(earlier)}`,
  ]
}
