// Statements of one row: reads, creates and updates, alone and in batches. Deletions are in remove.ts.
import type { Batchable, WritePlan } from '../model/batch.ts'
import { copiedProperties, type ReferringColumn, referringColumns, writtenBehind } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import type { Assignments } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement, typeName } from '../model/sql.ts'
import { batchInsert, batchUpdate, insertOne, list, type Operand, OWN_ID, type Source, updateOne } from './batch.ts'
import { compileOnce, insertFirst, updateFirst, valuesOfOnce } from './once.ts'
import {
  assignments,
  type Compiled,
  columns,
  freeOf,
  hasUnique,
  insertParts,
  operandsOf,
  paramsOf,
  shapeCache,
  sourcesOf,
} from './parts.ts'

const compiledShape = shapeCache<Compiled>(2_000)

// The most frequent statement of all, and its text is always the same.
const compiledGet = memoize((entity: Entity): Compiled => {
  const read = sql`select ${columns(entity)}, xmin::text as "X" from ${name(entity.table)} where id = `
  const textWith = (operand: Sql) => toStatement(sql`${read}${operand}`).text
  // One scan of the index for all ids, in place of a join with them, costs PostgreSQL a third less.
  const ids = sql`any (${param(null)}::${typeName(entity.id.kind.columnType)}[])`
  return { text: textWith(sql`${param(null)}`), batch: { text: textWith(ids), rows: 'found', distinct: null } }
})

/** Compiles the read of one row by its id; returns it, and its version. */
export function compileGet(entity: Entity, id: string): Batchable {
  const { text, batch } = compiledGet(entity)
  return { text, values: [id], batch }
}

/** Compiles the names and types of the table's columns, as PostgreSQL prints them; fails where there is no table. */
export function compileColumnTypes({ table }: Entity): Statement {
  const types = sql`select attname::text, format_type(atttypid, atttypmod) from pg_attribute`
  return toStatement(sql`${types} where attrelid = ${param(`"${table}"`)}::text::regclass and attnum > 0`)
}

/** Compiles a new row; returns it, and the transaction. No row: a reference names none, or the key of `once` is known. */
export function compileCreate(entity: Entity, { values, once, asker }: WritePlan): Batchable {
  const changed = changedProperties(entity, values)
  const { text, batch } = compiledWrite(`create${once ? ' once' : ''}`, entity, changed, () => {
    const operands = operandsOf(changed)
    const written = insertParts(entity, changed, operands)
    // A row with a value that another one has is left out, also where that is written at the same time: nothing has to fail.
    const parts = hasUnique(changed) ? { ...written, returning: sql`on conflict do nothing ${written.returning}` } : written
    if (once) return compileOnce(entity, operands, null, (runs) => insertFirst(parts, operands, runs))
    const key = param(null)
    const { text } = toStatement(insertOne(parts, key), [...paramsOf(operands), key])
    return { text, batch: batchInsert(parts, operands, key) }
  })
  return { text, values: [...valuesOf(changed, values), ...valuesOfOnce(once), asker], batch, once, asker }
}

/**
 * Compiles an update of one row, of one property at least; returns the row, and the transaction. No row if a reference names
 * none, a rule of the entity would not hold, or the row has none of the plan's versions; nor if more than `COPIES_MAX` rows of
 * one of `copying` copy from it, in a batch if more than a few do.
 */
export function compileUpdate(
  entity: Entity,
  { id, values, versions, once, asker }: WritePlan,
  copying: readonly ReferringColumn[] = [],
): Batchable {
  const changed = changedProperties(entity, values)
  const verb = `update${copying.length === 0 ? '' : ' few'}${versions === null ? '' : ' if'}${once ? ' once' : ''}`
  const { text, batch } = compiledWrite(verb, entity, changed, () => {
    const among = versions === null ? [] : [{ param: param(null), type: 'text' }]
    const operands = [...operandsOf(changed), ...among, { param: param(null), type: entity.id.kind.columnType }]
    const setsBy = (copied: (source: Source) => Sql) =>
      list(assignments(changed, operands, copied).map(({ column, value }) => sql`${name(column)} = ${value}`))
    const parts = {
      table: name(entity.table),
      returning: sql`returning ${columns(entity, sql`t`)}, t.xmin::text`,
      sources: sourcesOf(changed, operands),
      among: among[0]?.param ?? null,
    }
    const few = (id: Param | Sql, most: number) => copying.map((copies) => areFew(copies, id, most))
    const own = (operands.at(-1) as Operand).param
    const rules = (row: Sql) => [...rulesOf(entity, changed, operands, row), ...freeOf(entity, changed, operands, own)]
    const runs = { ...parts, sets: setsBy(({ as }) => sql`${as}."K"`), rules: rules(sql`before.`) }
    const batched = { ...runs, conditions: few(OWN_ID, COPIES_BATCHED_MAX), first: null }
    const first = lockedInOrder(entity, changed, operands)
    const alone = { ...runs, conditions: few(OWN_ID, COPIES_MAX), first }
    if (once)
      return compileOnce(entity, operands, operands.length - 1, (runs, isAlone) =>
        updateFirst(isAlone ? alone : batched, operands, runs),
      )
    const key = param(null)
    // The lock waits for a rename under way and then sees the new name.
    const sets = setsBy(({ table, id, copied }) => sql`(select ${copied} from ${table} where id = ${id} for key share)`)
    const plain = { ...parts, sets, rules: rules(sql``), conditions: few(own, COPIES_MAX), first }
    const { text } = toStatement(updateOne(plain, own, key), [...paramsOf(operands), key])
    return { text, batch: batchUpdate(batched, operands, key) }
  })
  const ids = versions === null ? [id] : [versions, id]
  return { text, values: [...valuesOf(changed, values), ...ids, ...valuesOfOnce(once), asker], batch, once, asker }
}

/** Locks all rows of the table that a rename reaches, by their ids, so that two of them queue; null: rows copy from no others. */
function lockedInOrder(entity: Entity, changed: readonly Property[], operands: readonly Operand[]): Sql | null {
  const copying = referringColumns(entity, [entity]).filter(({ isCopying }) => isCopying)
  const copied = copiedProperties(entity, [entity])
  const behind = copied.flatMap((property) => writtenBehind(entity, property))
  if (!changed.some(({ column }) => behind.includes(column))) return null
  const id = (operands.at(-1) as Operand).param
  const others = changed.flatMap(({ reference }, index) =>
    reference?.table === entity.table ? [(operands[index] as Operand).param] : [],
  )
  // The row itself, those that it refers to, and those that refer to it.
  const referring = copying.map(({ column }) => sql` or ${name(column)} = ${id}`)
  const rows = sql`id in (${list([id, ...others].map((param) => sql`${param}::bigint`))})${join(referring, sql``)}`
  return sql`(select count(*) from (select from ${name(entity.table)} where ${rows} order by id for update) as locked)`
}

/** Rules between changed values and a row's other values; two changed values are compared before. */
function rulesOf({ rules }: Entity, changed: readonly Property[], operands: readonly Operand[], row: Sql): Sql[] {
  return rules.flatMap(({ later, earlier }) => {
    const [one, other] = [changed.indexOf(later), changed.indexOf(earlier)]
    if (one < 0 === other < 0) return []
    const [value, stored] = one < 0 ? [operands[other], later] : [operands[one], earlier]
    const sides = [sql`${(value as Operand).param}`, sql`${row}${name(stored.column)}`]
    return [sql`(${join(one < 0 ? sides.toReversed() : sides, sql` >= `)}) is not false`]
  })
}

/** How many copies are written within the deadline of any statement, and how many without holding up others of its batch. */
export const COPIES_MAX = 1_000
const COPIES_BATCHED_MAX = 10

function areFew({ table, column }: ReferringColumn, id: Param | Sql, most: number): Sql {
  const some = sql`select from ${name(table)} as copying where copying.${name(column)} = ${id} limit ${integer(most + 1)}`
  return sql`(select count(*) from (${some}) as copies) <= ${integer(most)}`
}

/** In the entity's order, so that the same properties make the same statement. */
function changedProperties({ properties }: Entity, changes: Assignments): Property[] {
  return properties.filter((property) => changes.has(property))
}

function valuesOf(changed: readonly Property[], changes: Assignments): (string | null)[] {
  return changed.map((property) => changes.get(property) as string | null)
}

/**
 * Compiles a write, or returns it from the cache. Writes of unique values are never batched: the result of a batch does not say
 * which run was refused, and two of its updates, which do not see each other, could write the same value. D65
 */
function compiledWrite(verb: string, { table }: Entity, changed: readonly Property[], make: () => Compiled): Compiled {
  let shape = `${verb} ${table}`
  for (const { column } of changed) shape += ` ${column}`
  return compiledShape(shape, () => (hasUnique(changed) ? { ...make(), batch: null } : make()))
}
