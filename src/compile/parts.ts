// Parts that statements share: columns, conditions, orders, operands, unique values, and a cache of statement texts.
import type { Batch, BatchableStatement, WritePlan } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Kind, KindName } from '../model/kinds.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Assignments, Filter, Seek, Sort } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, sql } from '../model/sql.ts'
import { commaList, type Operand } from './batch.ts'

/** Returns an operand for each property. The statement gets the values at each execution. */
export function operandsOf(changed: readonly Property[]): Operand[] {
  return changed.map(({ kind }) => ({ param: param(null), type: kind.columnType }))
}

export function paramsOf(operands: readonly Operand[]): Param[] {
  return operands.map((operand) => operand.param)
}

/** Selects the columns of all properties, in the order that the JSON writers expect. `table`: name that qualifies the columns. */
export function columns(entity: Entity, table?: Sql): Sql {
  const prefix = table ? sql`${table}.` : sql``
  return commaList(entity.properties.map((property) => sql`${prefix}${name(property.column)}`))
}

/**
 * Returns names for the columns that a write returns: "C1" and so on. Columns of an entity have no capital, so they do not clash.
 */
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
  // PostgreSQL prints a boolean as `t`, but casts it to the text `true`.
  boolean: (value) => sql`left(${value}::text, 1)`,
  integer: cast,
  decimal: cast,
  date: cast,
  instant: cast,
  json: cast,
}

/** Returns the clause ` where ...`, or nothing without conditions. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`` : sql` where ${join(conditions, sql` and `)}`
}

/** Joins conditions by `and` to one condition that is true or false, but never null. */
export function allTrue(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : sql`(${join(conditions, sql` and `)}) is true`
}

// Nulls come last ascending and first descending, which is PostgreSQL's default, and the collation is that of the column. So an
// index on (column, id) serves the order by a single property, forwards and backwards.
export function orderBy(keys: readonly Sort[]): Sql {
  return commaList(
    keys.map(({ property, descending }) => (descending ? sql`${name(property.column)} desc` : name(property.column))),
  )
}

export function hasUnique(changed: readonly Property[]): boolean {
  return changed.some(({ unique }) => unique !== null)
}

/**
 * Returns conditions that no row has one of the unique values. `own`: id of a row that may have them; null for new rows. The
 * conditions do not see values of concurrent writes, which only the constraint refuses.
 */
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
 * Compiles a write, or returns it from the cache. Writes of unique values have no batch form: a batch does not tell which run was
 * refused. And two updates in a batch could write the same value, since they do not see each other. D65
 */
export function compiledWrite(verb: string, { table }: Entity, changed: readonly Property[], make: () => Compiled): Compiled {
  let shape = `${verb} ${table}`
  for (const { column } of changed) shape += ` ${column}`
  return compiledShape(shape, () => (hasUnique(changed) ? { ...make(), batch: null } : make()))
}

/** Returns a write with its values: `own`, then the values of its claim and of its guard, and last the id of the API key. */
export function writeStatement(
  { text, batch }: Compiled,
  own: readonly (string | null)[],
  { claim, keyId }: Pick<WritePlan, 'claim' | 'keyId'>,
  ofGuard: readonly string[],
): BatchableStatement {
  const ofClaim = claim === null ? [] : [claim.key, claim.request]
  return { text, values: [...own, ...ofClaim, ...ofGuard, keyId], batch, claim, keyId }
}

/** Returns the properties that are set, in the entity's order, so that equal properties always compile to the same statement. */
export function changedProperties({ properties }: Entity, changes: Assignments): Property[] {
  return properties.filter((property) => changes.has(property))
}

export function valuesOfChanged(changed: readonly Property[], changes: Assignments): (string | null)[] {
  return changed.map((property) => changes.get(property) as string | null)
}

/** Returns a cache of statements by shape. `sizeMax`: maximum number of statements, so that clients cannot fill the memory. */
export function shapeCache<Made extends Compiled | string>(sizeMax: number) {
  const compiled = new LruCache<Made>(sizeMax, () => 1)
  return (shape: string, make: () => Made): Made => {
    let made = compiled.get(shape)
    if (made === undefined) compiled.set(shape, (made = make()))
    return made
  }
}

/**
 * Returns a key for caches of statements: the same text for queries that compile to the same SQL, whatever their values.
 * `position`: position of a cursor; the key tells which of its values are null.
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

/**
 * Returns what a property adds to the cache key that `shapeOf` returns. For a related property this includes the conditions on
 * the rows through which its path leads.
 */
export function shapeOfProperty({ column, related }: Property): string {
  if (related === null) return column
  const { reference, view, property } = related
  return `${reference.column}(${shapeOf(view.filters)}).${shapeOfProperty(property)}`
}

/**
 * Returns the values of filters, in the order of the filters. After a filter's own value come the values of the conditions of its
 * path or chain.
 */
export function valuesOf(filters: readonly Filter[]): string[] {
  return filters.flatMap((filter) => {
    const { property, value, chain, either } = filter
    if (either) return either.flatMap(valuesOf)
    if (property.related) return valuesOf([{ ...filter, property: property.related.property }, ...property.related.view.filters])
    return [...(value === null ? [] : [value]), ...(chain ? valuesOf(chain.filters) : [])]
  })
}

/** Returns the values of the filters on rows through which the paths of these properties lead. */
export function valuesOfPaths(properties: readonly Property[]): string[] {
  return properties.flatMap(({ related }) =>
    related === null ? [] : [...valuesOf(related.view.filters), ...valuesOfPaths([related.property])],
  )
}
