// Parts that statements share: columns, conditions, orders, operands, unique values, and a cache of their texts.
import type { Batch, BatchableStatement, WritePlan } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Kind, KindName } from '../model/kinds.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Assignments, Filter, Seek, Sort } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, sql } from '../model/sql.ts'
import { commaList, type Operand } from './batch.ts'

/** Operands for the properties; the statement gets their values at each execution. */
export function operandsOf(changed: readonly Property[]): Operand[] {
  return changed.map(({ kind }) => ({ param: param(null), type: kind.columnType }))
}

export function paramsOf(operands: readonly Operand[]): Param[] {
  return operands.map((operand) => operand.param)
}

/** Columns of all properties, in the order in which the JSON writers read them, qualified by `table` if it is given. */
export function columns(entity: Entity, table?: Sql): Sql {
  const prefix = table ? sql`${table}.` : sql``
  return commaList(entity.properties.map((property) => sql`${prefix}${name(property.column)}`))
}

/** Names of the columns that a write returns, with a capital letter, since no column of an entity has one. */
export function writtenNames({ properties }: Entity): Sql {
  return commaList(properties.map((_, index) => sql`"C${integer(index + 1)}"`))
}

/** Converts a value to text as PostgreSQL prints it. */
export function printedText(value: Sql, { name }: Kind): Sql {
  return PRINTED[name](value)
}

const cast = (value: Sql) => sql`${value}::text`

const PRINTED: Readonly<Record<KindName, (value: Sql) => Sql>> = {
  text: cast,
  oneOf: cast,
  uuid: cast,
  // A cast gives `true`, and PostgreSQL prints `t`.
  boolean: (value) => sql`left(${value}::text, 1)`,
  integer: cast,
  decimal: cast,
  date: cast,
  instant: cast,
  json: cast,
}

/** The clause ` where ...`; nothing without conditions. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` where ${join(conditions, sql` and `)}`
}

// Nulls are last ascending and first descending, as PostgreSQL orders them by default, and the collation is that of the column.
// So the index on (column, id) gives the order of each single property, forwards or backwards.
export function orderBy(keys: readonly Sort[]): Sql {
  return commaList(
    keys.map(({ property, descending }) => (descending ? sql`${name(property.column)} desc` : name(property.column))),
  )
}

export function hasUnique(changed: readonly Property[]): boolean {
  return changed.some(({ unique }) => unique !== null)
}

/** Conditions that no row but `own` has one of the unique values. Between concurrent writes the constraint decides. */
export function uniqueConditions(
  entity: Entity,
  changed: readonly Property[],
  operands: readonly Operand[],
  own: Param | null,
): Sql[] {
  const others = own === null ? sql`` : sql` and taken.id <> ${own}`
  return changed.flatMap(({ column, unique }, index) => {
    if (unique === null) return []
    const value = sql`taken.${name(column)} = ${(operands[index] as Operand).param}`
    return [sql`not exists (select from ${name(entity.table)} as taken where ${value}${others})`]
  })
}

/** A compiled statement without its values. */
export interface Compiled {
  readonly text: string
  readonly batch: Batch | null
}

const compiledShape = shapeCache<Compiled>(2_000)

/**
 * Compiles a write, or returns it from the cache. Writes of unique values are never batched: a batch does not tell which run was
 * refused, and two of its updates could write the same value, since they do not see each other. D65
 */
export function compiledWrite(verb: string, { table }: Entity, changed: readonly Property[], make: () => Compiled): Compiled {
  let shape = `${verb} ${table}`
  for (const { column } of changed) shape += ` ${column}`
  return compiledShape(shape, () => (hasUnique(changed) ? { ...make(), batch: null } : make()))
}

/** Returns a write with its values: `own`, then those of its claim and of its guard, then the id of the API key. */
export function writeStatement(
  { text, batch }: Compiled,
  own: readonly (string | null)[],
  { claim, keyId }: Pick<WritePlan, 'claim' | 'keyId'>,
  ofGuard: readonly string[],
): BatchableStatement {
  const ofClaim = claim === null ? [] : [claim.key, claim.request]
  return { text, values: [...own, ...ofClaim, ...ofGuard, keyId], batch, claim, keyId }
}

/** Properties that are set, in the entity's order, so that the same properties always compile to the same statement. */
export function changedProperties({ properties }: Entity, changes: Assignments): Property[] {
  return properties.filter((property) => changes.has(property))
}

export function valuesOfChanged(changed: readonly Property[], changes: Assignments): (string | null)[] {
  return changed.map((property) => changes.get(property) as string | null)
}

/** Cache of statements by shape, of at most `sizeMax`, so that clients cannot fill the memory. */
export function shapeCache<Made extends Compiled | string>(sizeMax: number) {
  const compiled = new LruCache<Made>(sizeMax, () => 1)
  return (shape: string, make: () => Made): Made => {
    let made = compiled.get(shape)
    if (made === undefined) compiled.set(shape, (made = make()))
    return made
  }
}

/**
 * Key of the cache: equal for queries that compile to the same text, whatever their values. `position`: of a cursor, which may
 * have nulls.
 */
export function shapeOf(filters: readonly Filter[], sorts: readonly Sort[] = [], position: Seek['position'] = []): string {
  let shape = ''
  for (const { property, operator, value, anyOf, chain, either, hasFewIds } of filters) {
    if (either) {
      shape += ` ${hasFewIds ? '#' : ''}{${either.map((alternative) => shapeOf(alternative)).join('|')}}`
      continue
    }
    shape += ` ${shapeOfProperty(property)}${operator.sign}${value === null ? '' : '?'}${anyOf?.includes(null) ? '-' : ''}`
    if (chain) shape += `(${shapeOf(chain.filters)})`
  }
  for (const { property, descending } of sorts) shape += ` ${property.column}${descending ? '-' : '+'}`
  return `${shape} ${position.map((value) => (value === null ? '-' : '?')).join('')}`
}

/** Name of a property in such a key; for a related one, with the conditions of the rows through which its path leads. */
export function shapeOfProperty({ column, related }: Property): string {
  if (related === null) return column
  const { reference, view, property } = related
  return `${reference.column}(${shapeOf(view.filters)}).${shapeOfProperty(property)}`
}

/** Operands of the filters, in their order, each followed by those of the rows through which its path or its chain leads. */
export function valuesOf(filters: readonly Filter[]): string[] {
  return filters.flatMap((filter) => {
    const { property, value, chain, either } = filter
    if (either) return either.flatMap(valuesOf)
    if (property.related) return valuesOf([{ ...filter, property: property.related.property }, ...property.related.view.filters])
    return [...(value === null ? [] : [value]), ...(chain ? valuesOf(chain.filters) : [])]
  })
}

/** Values of the conditions of the rows through which the paths of properties lead. */
export function valuesOfPaths(properties: readonly Property[]): string[] {
  return properties.flatMap(({ related }) =>
    related === null ? [] : [...valuesOf(related.view.filters), ...valuesOfPaths([related.property])],
  )
}
