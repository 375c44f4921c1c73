import type { Entity, Property, Reference, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement, typeName } from '../model/sql.ts'

/**
 * Why a row cannot be written: a row of the answer for each column whose reference names no row, for each unique value that
 * another row has, and for each rule that the row's other values would break, both by their constraints; `id`, where there is
 * no row to change. `id` null: a new row. Null: nothing can be wrong with it.
 */
export function compileRefusals(entity: Entity, id: string | null, changes: Assignments): Statement | null {
  const checks = [...changes].flatMap(([property, value]) =>
    property.reference && value !== null ? [missing(property, property.reference, param(value))] : [],
  )
  for (const [property, value] of changes)
    if (property.unique !== null && value !== null)
      checks.push(taken(entity, property, param(value), id === null ? null : param(id)))
  if (id !== null) {
    const own = param(id)
    checks.push(...entity.rules.flatMap((rule) => broken(entity, rule, own, changes)))
    checks.push(sql`select ${param('id')}::text where not exists (select from ${name(entity.table)} where id = ${own}::bigint)`)
  }
  return checks.length === 0 ? null : toStatement(join(checks, sql` union all `))
}

/**
 * Why new rows cannot be written: of each cause the number of its row, from 1, and the column whose reference names no row, or
 * the constraint of the unique value that another row has; the first `most` of them. `properties`: those that refer or are
 * unique; `values`: an array of PostgreSQL for each. Null: there are none.
 */
export function compileRowRefusals(
  entity: Entity,
  properties: readonly Property[],
  values: readonly string[],
  most: number,
): Statement | null {
  const checks = properties.flatMap(({ column, kind, reference, unique }, index) => {
    const array = sql`${param(values[index] as string)}::${typeName(kind.columnType)}[]`
    const cause = (text: string, condition: Sql) =>
      sql`select b."N" as "N", ${param(text)}::text as "Cause" from unnest(${array}) with ordinality as b(value, "N") where ${condition}`
    const rowsOf = (table: string, own: string) => sql`(select from ${name(table)} as t where t.${name(own)} = b.value)`
    return [
      ...(reference ? [cause(column, sql`b.value is not null and not exists ${rowsOf(reference.table, 'id')}`)] : []),
      ...(unique === null ? [] : [cause(unique, sql`exists ${rowsOf(entity.table, column)}`)]),
    ]
  })
  if (checks.length === 0) return null
  return toStatement(
    sql`select "N"::text, "Cause" from (${join(checks, sql` union all `)}) as causes order by causes."N" limit ${integer(most)}`,
  )
}

function missing({ column }: Property, { table }: Reference, id: Param): Sql {
  return sql`select ${param(column)}::text where not exists (select from ${name(table)} where id = ${id}::bigint)`
}

function taken({ table }: Entity, { column, kind, unique }: Property, value: Param, id: Param | null): Sql {
  const other = id === null ? sql`` : sql` and id <> ${id}::bigint`
  const rows = sql`select from ${name(table)} where ${name(column)} = ${value}::${typeName(kind.columnType)}${other}`
  return sql`select ${param(unique)}::text where exists (${rows})`
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
