import type { Entity, Property, Reference } from '../model/entity.ts'
import type { Changes } from '../model/query.ts'
import { join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { batchInsert, batchQuery, batchUpdate, type Operand } from './batch.ts'
import { columns } from './columns.ts'
import { type Compiled, ShapeCache } from './shapes.ts'

// The most frequent statement of all, and its text is always the same.
const shapes = new ShapeCache(2_000)
const gets = new WeakMap<Entity, Compiled>()

/** One row by its id. */
export function compileGet(entity: Entity, id: string): Statement {
  let compiled = gets.get(entity)
  if (!compiled) {
    const operand = param(id)
    const piece = sql`select ${columns(entity)} from ${name(entity.table)} where id = ${operand}`
    compiled = {
      text: toStatement(piece).text,
      batch: batchQuery(piece, [{ param: operand, type: entity.id.kind.columnType }]),
    }
    gets.set(entity, compiled)
  }
  return { text: compiled.text, values: [id], batch: compiled.batch }
}

/** No row, and every column: fails where the table is not as declared. */
export function compileProbe(entity: Entity): Statement {
  return toStatement(sql`select ${columns(entity)} from ${name(entity.table)} limit 0`)
}

/** A new row; returns it. */
export function compileCreate(entity: Entity, changes: Changes): Statement {
  const changed = changedProperties(entity, changes)
  const { text, batch } = shapes.get(shapeOf('create', entity, changed), () => {
    const { assigned, operands } = assignments(changed)
    const targets = list(assigned.map(({ column }) => name(column)))
    const values = list(assigned.map(({ value }) => value))
    const insert = sql`insert into ${name(entity.table)} (${targets})`
    const returning = sql`returning ${columns(entity)}`
    const params = operands.map((operand) => operand.param)
    return {
      text: toStatement(sql`${insert} values (${values}) ${returning}`, params).text,
      batch: batchInsert(insert, values, returning, operands),
    }
  })
  return { text, values: valuesOf(changed, changes), batch }
}

/** Sets the changed properties of one row, at least one; returns the row. */
export function compileUpdate(entity: Entity, id: string, changes: Changes): Statement {
  const changed = changedProperties(entity, changes)
  const { text, batch } = shapes.get(shapeOf('update', entity, changed), () => {
    const { assigned, operands } = assignments(changed)
    operands.push({ param: param(null), type: entity.id.kind.columnType })
    const update = sql`update ${name(entity.table)}`
    const sets = list(assigned.map(({ column, value }) => sql`${name(column)} = ${value}`))
    const returning = sql`returning ${columns(entity)}`
    const params = operands.map((operand) => operand.param)
    const where = sql`where id = ${params.at(-1) as Param}`
    return {
      text: toStatement(sql`${update} set ${sets} ${where} ${returning}`, params).text,
      batch: batchUpdate(update, sets, returning, operands),
    }
  })
  return { text, values: [...valuesOf(changed, changes), id], batch }
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

/** In the entity's order, so that the same properties make the same statement. */
function changedProperties({ properties }: Entity, changes: Changes): Property[] {
  return properties.filter((property) => changes.has(property))
}

function valuesOf(changed: readonly Property[], changes: Changes): (string | null)[] {
  return changed.map((property) => changes.get(property) as string | null)
}

function shapeOf(verb: string, { table }: Entity, changed: readonly Property[]): string {
  let shape = `${verb} ${table}`
  for (const { column } of changed) shape += ` ${column}`
  return shape
}

/** A reference brings along the copy that its foreign key checks; a copy that is not found stays null. */
function assignments(changed: readonly Property[]) {
  const assigned: { column: string; value: Sql }[] = []
  const operands: Operand[] = []
  for (const { column, kind, reference } of changed) {
    const value = param(null)
    operands.push({ param: value, type: kind.columnType })
    assigned.push({ column, value: sql`${value}` })
    if (!reference?.copy) continue
    // The lock waits for a rename under way and then sees the new name; without it the copy could be stale by the
    // time the foreign key checks it.
    const { keyColumn, sourceColumn } = reference.copy
    const source = sql`select ${name(sourceColumn)} from ${name(reference.table)} where id = ${value} for key share`
    assigned.push({ column: keyColumn, value: sql`(${source})` })
  }
  return { assigned, operands }
}

function list(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
