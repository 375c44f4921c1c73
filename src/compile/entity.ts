import type { Entity, Property, Reference } from '../model/entity.ts'
import type { Changes } from '../model/query.ts'
import { join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { columns } from './columns.ts'

// The most frequent statement of all, and its text is always the same.
const getTexts = new WeakMap<Entity, string>()

/** One row by its id. */
export function compileGet(entity: Entity, id: string): Statement {
  let text = getTexts.get(entity)
  if (text === undefined) {
    text = toStatement(sql`select ${columns(entity)} from ${name(entity.table)} where id = ${param(id)}`).text
    getTexts.set(entity, text)
  }
  return { text, values: [id] }
}

/** No row, and every column: fails where the table is not as declared. */
export function compileProbe(entity: Entity): Statement {
  return toStatement(sql`select ${columns(entity)} from ${name(entity.table)} limit 0`)
}

/** A new row; returns it. */
export function compileCreate(entity: Entity, changes: Changes): Statement {
  const assigned = assignments(entity, changes)
  const targets = join(
    assigned.map(({ column }) => name(column)),
    sql`, `,
  )
  const values = join(
    assigned.map(({ value }) => value),
    sql`, `,
  )
  return toStatement(
    sql`insert into ${name(entity.table)} (${targets}) values (${values}) returning ${columns(entity)}`,
  )
}

/** Sets the changed properties of one row, at least one; returns the row. */
export function compileUpdate(entity: Entity, id: string, changes: Changes): Statement {
  const sets = assignments(entity, changes).map(({ column, value }) => sql`${name(column)} = ${value}`)
  return toStatement(
    sql`update ${name(entity.table)} set ${join(sets, sql`, `)} where id = ${param(id)} returning ${columns(entity)}`,
  )
}

/** Deletes one row; returns its id. */
export function compileRemove(entity: Entity, id: string): Statement {
  return toStatement(sql`delete from ${name(entity.table)} where id = ${param(id)} returning id`)
}

/** For each reference that the changes set: a row with the property's column, if it names no row. */
export function compileMissingReferences(changes: Changes): Statement | null {
  const checks = [...changes].flatMap(([property, value]) =>
    property.reference && value !== null ? [missing(property, property.reference, param(value))] : [],
  )
  return checks.length === 0 ? null : toStatement(join(checks, sql` union all `))
}

function missing(property: Property, { table }: Reference, id: Param): Sql {
  return sql`select ${param(property.column)}::text where not exists (select from ${name(table)} where id = ${id}::bigint)`
}

/** A reference brings along the copy that its foreign key checks; a copy that is not found stays null. */
function assignments(entity: Entity, changes: Changes): { column: string; value: Sql }[] {
  const assigned: { column: string; value: Sql }[] = []
  for (const property of entity.properties) {
    const text = changes.get(property)
    if (text === undefined) continue
    const value = param(text)
    assigned.push({ column: property.column, value: sql`${value}` })
    const copy = property.reference?.copy
    if (property.reference && copy) {
      // The lock waits for a rename under way and then sees the new name; without it the copy could be stale by the
      // time the foreign key checks it.
      const source = sql`select ${name(copy.sourceColumn)} from ${name(property.reference.table)} where id = ${value} for key share`
      assigned.push({ column: copy.keyColumn, value: sql`(${source})` })
    }
  }
  return assigned
}
