// Causes of refused writes: statements that look for missing references, taken unique values and broken rules.
import type { Guard } from '../model/access.ts'
import type { Entity, Property, Rule } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import {
  arrayText,
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
import { type GuardParts, guardParts, referredRows } from './guard.ts'

/**
 * Compiles a search for the causes of a refused write of one row. The statement returns one text for each cause:
 * - The column of a reference, if the row that it names is missing, or the `guard` does not let the write refer to this row.
 * - The constraint of a unique value that is taken, or of a rule that would be broken.
 * - `id`, if the row to write does not exist.
 *
 * The parameter `id` is null for a new row. Returns null if no cause is possible.
 */
export function compileRefusals(entity: Entity, id: string | null, changes: Assignments, guard: Guard | null): Statement | null {
  const own = id === null ? null : param(id)
  const guarded = guardParts(guard, [...changes.keys()])
  const causes = [...changes].flatMap(([property, value]) => causesOf(entity, property, arrayText([value]), own, guarded))
  if (own !== null) {
    causes.push(...entity.rules.flatMap((rule) => broken(entity, rule, own, changes)))
    causes.push(sql`${param('id')}::text where not exists (select from ${name(entity.table)} where id = ${own}::bigint)`)
  }
  return causes.length === 0 ? null : toStatement(unionOf(causes.map((cause) => sql`select ${cause}`)))
}

/**
 * Compiles a search for the causes of refused new rows. The statement returns the first `countMax` causes: the number of the row,
 * from 1, and the column of the reference or the constraint of the unique value. `properties`: references and unique properties.
 * `values`: a PostgreSQL array for each of these. Returns null if no cause is possible.
 */
export function compileRowRefusals(
  entity: Entity,
  properties: readonly Property[],
  values: readonly string[],
  guard: Guard | null,
  countMax: number,
): Statement | null {
  const guarded = guardParts(guard, properties)
  const causes = properties.flatMap((property, index) => causesOf(entity, property, values[index] as string, null, guarded))
  if (causes.length === 0) return null
  const all = unionOf(causes.map((cause) => sql`select b."N", ${cause}`))
  return toStatement(sql`select "N"::text, "Cause" from (${all}) as causes order by causes."N" limit ${integer(countMax)}`)
}

/**
 * Selects the causes for refusing values of one property: the reference names no row, or a row has the unique value. `own`: id of
 * a row that may have the value; null for new rows. The rows `b` have the values.
 */
function causesOf(entity: Entity, property: Property, values: string, own: Param | null, guard: GuardParts): Sql[] {
  const { column, kind, reference, unique } = property
  const rows = sql`unnest(${param(values)}::${typeName(kind.columnType)}[]) with ordinality as b(value, "N")`
  const cause = (text: string, condition: Sql) => sql`${param(text)}::text as "Cause" from ${rows} where ${condition}`
  const other = own === null ? sql`` : sql` and t.id <> ${own}::bigint`
  const referred = (table: string) => referredRows(table, guard.references.get(property) ?? [], sql`t`)
  const missing = (table: string) => sql`b.value is not null and not exists (select from ${referred(table)} where t.id = b.value)`
  const taken = sql`exists (select from ${name(entity.table)} as t where t.${name(column)} = b.value${other})`
  return [
    ...(reference === null ? [] : [cause(column, missing(reference.table))]),
    ...(unique === null ? [] : [cause(unique, taken)]),
  ]
}

function unionOf(selects: readonly Sql[]): Sql {
  return join(selects, sql` union all `)
}

/**
 * Selects the constraint of a rule if the row would break it. If the body has both values of the rule, the parser has compared
 * them; if it has none, the write cannot break the rule. In both cases returns no query.
 */
function broken({ table }: Entity, { later, earlier, constraint }: Rule, id: Param, changes: Assignments): Sql[] {
  if (changes.has(later) === changes.has(earlier)) return []
  const side = (property: Property) =>
    changes.has(property)
      ? sql`${param(changes.get(property) ?? null)}::${typeName(property.kind.columnType)}`
      : name(property.column)
  return [sql`${param(constraint)}::text from ${name(table)} where id = ${id}::bigint and ${side(later)} < ${side(earlier)}`]
}
