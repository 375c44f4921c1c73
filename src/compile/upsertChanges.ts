// The stored rows of an upsert: locks them, compares them with the body, and updates those that differ.
import type { Guard } from '../model/access.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'
import { integer, join, name, param, replaceParams, type Sql, sql } from '../model/sql.ts'
import { batchInput, columnOf, commaList, type Operand } from './batch.ts'
import {
  admittedConditions,
  bindFilters,
  type Condition,
  conditionsOf,
  type GuardParts,
  guardParts,
  readableColumn,
  storedValue,
  typedValue,
  type ValueOf,
} from './guard.ts'
import { allTrue, columns, operandsOf, paramsOf, uniqueConditions, writtenNames } from './parts.ts'
import { assignments, type ReferencedRow, referencedRows } from './references.ts'

/** Form of an upsert's statement: all that its text depends on. */
export interface UpsertShape {
  readonly entity: Entity
  /** Property by whose value stored rows are found. */
  readonly matched: Property
  /** Filters of the view. A row that the view does not have is treated as if it did not exist. */
  readonly shown: readonly Filter[]
  readonly hasCreates: boolean
  readonly hasUpdates: boolean
  /** Properties that the body sets in at least one stored row, without `matched`, in the entity's order. */
  readonly changed: readonly Property[]
  /** True if the body sets all properties of `changed` in each stored row. */
  readonly isUniform: boolean
  /**
   * Changed properties that the key may not read. They are always written: the outcome `unchanged` would reveal to the key that
   * their values in the body are the stored values.
   */
  readonly hidden: readonly Property[]
  /** Changed properties that referring rows copy. */
  readonly renaming: readonly Property[]
  /**
   * Columns by which rows copy from the renamed rows. If more than `COPIES_MAX` rows copy by one of these columns, nothing is
   * written. `copying` is null if there is no such maximum.
   */
  readonly copying: readonly ReferringColumn[] | null
  readonly ofCreate: Guard | null
  readonly ofUpdate: Guard | null
}

/** Operands of the stored rows, and the guard of the rights to update them. */
export class Updates {
  readonly id: Operand
  readonly matched: Operand
  readonly index: Operand = { param: param(null), type: 'bigint' }
  /** Text with a digit for each changed property: 1 if the row gets the property, else 0. */
  readonly mask: Operand = { param: param(null), type: 'text' }
  readonly own: readonly Operand[]
  readonly operands: readonly Operand[]
  readonly guard: GuardParts
  /** Conditions of the view. A row must still match them when it is locked. */
  readonly shown: readonly Condition[]

  constructor({ entity, matched, shown, changed, ofUpdate }: UpsertShape) {
    this.id = { param: param(null), type: entity.id.kind.columnType }
    this.matched = { param: param(null), type: matched.kind.columnType }
    this.own = operandsOf(changed)
    this.operands = [this.id, this.matched, this.index, this.mask, ...this.own]
    this.guard = guardParts(ofUpdate, changed)
    this.shown = bindFilters(shown)
  }
}

/** Condition of every lock and write: the Idempotency-Key is unused, and the new rows are still new. */
export const IS_BEGUN = sql`(select "Is" from "Begun")`
/** Condition of every write: all rows of the body may be written. */
export const IS_RIGHT = sql`(select "Is" from "All")`

/**
 * Locks the rows to which the stored rows will refer. These are locked before the stored rows, and both in the order of their
 * ids, as in a rename.
 */
export function lockedReferences({ changed }: UpsertShape, { own, operands, guard }: Updates, lock = sql`for key share`): Sql[] {
  const arrays = batchInput(operands, paramsOf(operands)).arrays
  return referencedRows(changed, own, guard).map((row) => {
    const ids = arrays[operands.findIndex((operand) => operand.param === row.id)] as Sql
    return sql`${row.alias} as materialized (
      select id, ${row.copied} as "K" from ${row.table} where id = any (${ids}) and ${IS_BEGUN} order by id ${lock}
    )`
  })
}

/** Locks the stored rows in the order of their ids. "Before" has the rows as they are then. */
export function lockedRows(
  { entity, changed }: UpsertShape,
  { id, own, operands, guard }: Updates,
  lock = sql`for no key update`,
): Sql {
  const ids = batchInput(operands, paramsOf(operands)).arrays[operands.indexOf(id)] as Sql
  const references = referencedRows(changed, own, guard).map(({ alias }) => sql` and (select count(*) from ${alias}) is not null`)
  return sql`"Before" as materialized (
    select own.*, own.xmin::text as "Version" from ${name(entity.table)} as own
    where id = any (${ids}) and ${IS_BEGUN}${join(references, sql``)} order by id ${lock}
  )`
}

/** Compares the stored rows with the body. "Changes" tells whether each row differs, is renamed, and may be updated. */
export function changesOf(shape: UpsertShape, updates: Updates): Sql {
  const { entity, matched, changed, hidden, renaming } = shape
  const { own, operands, guard } = updates
  const value = columnOf(operands)
  const isGiven = givenOf(shape, updates)
  const before = storedValue(sql`before.`)
  const written: ValueOf = (property) => {
    const at = changed.indexOf(property)
    if (at < 0) return before(property)
    return whenGiven(isGiven(at), typedValue(property, sql`${(own[at] as Operand).param}`), before(property))
  }
  const differs = (properties: readonly Property[]) =>
    anyOf(
      properties.map((property) => {
        const at = changed.indexOf(property)
        const isOther = sql`${(own[at] as Operand).param} is distinct from ${before(property)}`
        return whenGiven(isGiven(at), hidden.includes(property) ? sql`true` : isOther, sql`false`)
      }),
    )
  const referenced = referencedRows(changed, own, guard)
  const conditions = [
    sql`before.id is not null`,
    sql`before.${name(matched.column)} = ${updates.matched.param}`,
    ...conditionsOf(updates.shown, before),
    ...admittedConditions(guard, before, written),
    ...referenced.map((row) => sql`(${row.id} is null or ${row.alias}.id is not null)`),
    ...rulesOfChanged(shape, written),
    ...uniqueConditions(entity, changed, own, updates.id.param),
  ]
  const joins = referenced.map((row) => sql` left join ${row.alias} on ${row.alias}.id = ${row.id}`)
  const copied = referenced.map(({ alias }) => sql`, ${alias}."K" as ${alias}`)
  const { from } = batchInput(operands, paramsOf(operands))
  const ofRun = (part: Sql) => replaceParams(part, value)
  return sql`"Changes" as materialized (
    select b.*${join(copied, sql``)}, ${ofRun(differs(changed))} as "Differs", ${ofRun(differs(renaming))} as "Renames",
      ${allTrue(conditions.map(ofRun))} as "Ok"
    from ${from} left join "Before" as before on before.id = ${value(updates.id.param)}${ofRun(join(joins, sql``))}
  )`
}

/**
 * Returns a function that takes the index of a changed property, and gives the condition that a row sets this property; null:
 * every row sets it.
 */
function givenOf({ isUniform }: UpsertShape, { mask }: Updates): (at: number) => Sql | null {
  return (at) => (isUniform ? null : sql`substr(${mask.param}, ${integer(at + 1)}, 1) = '1'`)
}

function whenGiven(isGiven: Sql | null, given: Sql, otherwise: Sql): Sql {
  return isGiven === null ? given : sql`case when ${isGiven} then ${given} else ${otherwise} end`
}

/** Returns conditions that the rules hold after the update. Rules between two unchanged values are left out. */
function rulesOfChanged({ entity: { rules }, changed }: UpsertShape, written: ValueOf): Sql[] {
  const concerned = rules.filter(({ later, earlier }) => changed.includes(later) || changed.includes(earlier))
  return concerned.map(({ later, earlier }) => sql`(${written(later)} >= ${written(earlier)}) is not false`)
}

export function updated(shape: UpsertShape, updates: Updates): Sql {
  const { entity, changed } = shape
  const { own, operands, guard } = updates
  const value = columnOf(operands)
  const isGiven = givenOf(shape, updates)
  const referenced = referencedRows(changed, own, guard)
  const copiedFrom = ({ alias }: ReferencedRow) => sql`b.${alias}`
  const sets = changed.flatMap((property, at) =>
    assignments([property], [own[at] as Operand], guard, () => {
      const row = referenced.find(({ id }) => id === own[at]?.param)
      return copiedFrom(row as ReferencedRow)
    }).map(({ column, value: to }) => sql`${name(column)} = ${whenGiven(isGiven(at), to, sql`t.${name(column)}`)}`),
  )
  return sql`"Updated" (${shownNames(shape, hasReadable(guard))}, "At") as (
    update ${name(entity.table)} as t set ${replaceParams(commaList(sets), value)}
    from "Changes" as b
    where t.id = ${value(updates.id.param)} and b."Differs" and ${IS_RIGHT}
    returning ${columns(entity, sql`t`)}, t.xmin::text${readableColumn(entity, guard, sql`t.`)}, ${value(updates.index.param)}
  )`
}

export function unchangedOutcomes({ entity }: UpsertShape, { id, index, operands, guard }: Updates): Sql {
  const value = columnOf(operands)
  return sql`
    select ${columns(entity, sql`s`)}, s."Version"${readableColumn(entity, guard, sql`s.`)}, ${value(index.param)}, 'unchanged'::text
    from "Changes" as b join "Before" as s on s.id = ${value(id.param)}
    where not b."Differs" and ${IS_RIGHT}`
}

/**
 * Returns names for the columns of a written row and its transaction. `isShown`: adds the name of the column that tells whether
 * the key may read the row.
 */
export function shownNames({ entity }: UpsertShape, isShown: boolean): Sql {
  return sql`${writtenNames(entity)}, "Version"${isShown ? sql`, "Readable"` : sql``}`
}

export function hasReadable(...guards: readonly GuardParts[]): boolean {
  return guards.some(({ readable }) => readable.length > 0)
}

function anyOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`false` : sql`(${join(conditions, sql` or `)})`
}
