import type { Batchable } from '../model/batch.ts'
import type { CopyingColumn } from '../model/copies.ts'
import type { Entity, Property, Reference } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { batchInsert, batchQuery, batchUpdate, type Operand, OWN_ID, type UpdateParts } from './batch.ts'
import { columns } from './columns.ts'
import { type Compiled, ShapeCache } from './shapes.ts'

// The most frequent statement of all, and its text is always the same.
const shapes = new ShapeCache(2_000)
const gets = new WeakMap<Entity, Compiled>()

// The transaction that wrote a row as it is, modulo 2^32, behind the columns: what has read it must know which writes it shows.
// No column of an entity has a capital letter.
const VERSION = sql`"X"`

/** One row by its id, and its version. */
export function compileGet(entity: Entity, id: string): Batchable {
  let compiled = gets.get(entity)
  if (!compiled) {
    const operand = param(id)
    const piece = sql`select ${columns(entity)}, xmin::text as ${VERSION} from ${name(entity.table)} where id = ${operand}`
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

// What every write returns behind the columns: who reads the row later must know whether it saw this one.
const TRANSACTION = sql`pg_current_xact_id()::text`

/** A new row; returns it, and the transaction. */
export function compileCreate(entity: Entity, changes: Assignments): Batchable {
  const changed = changedProperties(entity, changes)
  const { text, batch } = shapes.get(shapeOf('create', entity, changed), () => {
    const { assigned, operands } = assignments(changed)
    const targets = list(assigned.map(({ column }) => name(column)))
    const values = list(assigned.map(({ value }) => value))
    const insert = sql`insert into ${name(entity.table)} (${targets})`
    const returning = sql`returning ${columns(entity)}, ${TRANSACTION}`
    return {
      text: toStatement(sql`${insert} values (${values}) ${returning}`, paramsOf(operands)).text,
      batch: batchInsert(insert, values, returning, operands),
    }
  })
  return { text, values: valuesOf(changed, changes), batch }
}

/**
 * Sets the changed properties of one row, at least one; returns the row, as it was before, the transaction, and the
 * version that the row had before. `copying`: no row where more than `COPIES_MAX` rows of one of these copy from it, in a
 * batch where more than a few do.
 */
export function compileUpdate(
  entity: Entity,
  id: string,
  changes: Assignments,
  copying: readonly CopyingColumn[] = [],
): Batchable {
  const changed = changedProperties(entity, changes)
  const { text, batch } = shapes.get(shapeOf(copying.length === 0 ? 'update' : 'rename', entity, changed), () => {
    const { assigned, operands } = assignments(changed)
    operands.push({ param: param(null), type: entity.id.kind.columnType })
    const table = name(entity.table)
    const sets = list(assigned.map(({ column, value }) => sql`${name(column)} = ${value}`))
    const [after, before] = [columns(entity, sql`t`), columns(entity, sql`before`)]
    const parts = {
      table,
      sets,
      returning: sql`returning ${after}, ${before}, ${TRANSACTION}, before.${VERSION}`,
      columns: sql`${columns(entity)}, xmin::text as ${VERSION}`,
      sources: sourcesOf(changed, operands),
    }
    return {
      text: toStatement(updateOne(parts, operands, copying), paramsOf(operands)).text,
      batch: batchUpdate(
        { ...parts, conditions: copying.map((copies) => areFew(copies, OWN_ID, COPIES_BATCHED_MAX)) },
        operands,
      ),
    }
  })
  return { text, values: [...valuesOf(changed, changes), id], batch }
}

/**
 * The row as it was is read under the lock that the update takes anyway, so no other write comes between the two; and after
 * the rows that it copies from are locked: a rename has locked one of those when it comes to this row.
 */
function updateOne(
  { table, sets, returning, columns, sources }: UpdateParts,
  operands: readonly Operand[],
  copying: readonly CopyingColumn[],
): Sql {
  const id = (operands.at(-1) as Operand).param
  const locks = sources.map(
    ({ table, id }) => sql` and (select true from ${table} where id = ${id} for key share) is not false`,
  )
  const few = copying.map((copies) => sql` and ${areFew(copies, id, COPIES_MAX)}`)
  const conditions = join([...locks, ...few], sql``)
  const before = sql`(select ${columns} from ${table} where id = ${id}${conditions} for no key update) as before`
  return sql`update ${table} as t set ${sets} from ${before} where t.id = before.id ${returning}`
}

/** How many copies are written within the deadline of any statement, and how many without holding up others of its batch. */
export const COPIES_MAX = 1_000
const COPIES_BATCHED_MAX = 10

function areFew({ table, column }: CopyingColumn, id: Param | Sql, most: number): Sql {
  const some = sql`select from ${name(table)} as copying where copying.${name(column)} = ${id} limit ${integer(most + 1)}`
  return sql`(select count(*) from (${some}) as copies) <= ${integer(most)}`
}

/** Deletes one row; returns it as it was, and the transaction. */
export function compileRemove(entity: Entity, id: string): Statement {
  const returning = sql`returning ${columns(entity)}, ${TRANSACTION}`
  return toStatement(sql`delete from ${name(entity.table)} where id = ${param(id)} ${returning}`)
}

/** For each reference that the changes set: a row with the property's column, if it names no row. */
export function compileMissingReferences(changes: Assignments): Statement | null {
  const checks = [...changes].flatMap(([property, value]) =>
    property.reference && value !== null ? [missing(property, property.reference, param(value))] : [],
  )
  return checks.length === 0 ? null : toStatement(join(checks, sql` union all `))
}

function missing(property: Property, { table }: Reference, id: Param): Sql {
  return sql`select ${param(property.column)}::text where not exists (select from ${name(table)} where id = ${id}::bigint)`
}

/** In the entity's order, so that the same properties make the same statement. */
function changedProperties({ properties }: Entity, changes: Assignments): Property[] {
  return properties.filter((property) => changes.has(property))
}

function valuesOf(changed: readonly Property[], changes: Assignments): (string | null)[] {
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

/** The rows that the changed references copy from. */
function sourcesOf(changed: readonly Property[], operands: readonly Operand[]): UpdateParts['sources'] {
  return changed.flatMap(({ reference }, index) =>
    reference?.copy ? [{ table: name(reference.table), id: (operands[index] as Operand).param }] : [],
  )
}

function paramsOf(operands: readonly Operand[]): Param[] {
  return operands.map((operand) => operand.param)
}

function list(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
