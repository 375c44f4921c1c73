// Guards of writes: what the row must match before and after, which rows it may refer to, and whether the answer may show it.
// Conditions of equality are decided by this process. If they hold, the statement leaves them out (D90). So most keys with few
// rights use the same statements as a key with all rights.
import type { Guard } from '../model/access.ts'
import { selfCopiesOf } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import { equalityHolds, isEquality } from '../model/equalities.ts'
import { foldSql } from '../model/fold.ts'
import { LruCache } from '../model/lruCache.ts'
import { memoize } from '../model/memoize.ts'
import type { Assignments, Filter } from '../model/query.ts'
import { join, name, type Param, param, type Row, type Sql, sql, typeName } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import type { Operand } from './batch.ts'
import { compileFilter, type RowSql } from './matching.ts'
import { shapeOf, valuesOf } from './parts.ts'

/** A guard, divided into the conditions that this process decides and those that are left for the statement. */
interface Checked {
  /** Conditions on the row after the write that this process decides. */
  readonly decided: readonly Filter[]
  /** Guard for the statement to check, provided that the new values match all of `decided`. Null: there is nothing to check. */
  readonly ifMatched: Guard | null
  /**
   * Guard for the statement to check in all other cases: a new value does not match `decided`, or the write does not set it.
   * Null: there is nothing to check.
   */
  readonly otherwise: Guard | null
}

/**
 * Returns the part of a guard that a write's statement has to check; null if nothing is left. `rows`: the new values of each row.
 */
export function checkedGuard(entity: Entity, guard: Guard | null, rows: readonly Assignments[]): Guard | null {
  if (guard === null) return null
  const { decided, ifMatched, otherwise } = checkedOf(entity)(withoutFailing(entity, guard, rows))
  const areMatched = rows.every((values) => decided.every((filter) => isMatched(filter, values)))
  return areMatched ? ifMatched : otherwise
}

/**
 * Returns the guard without the pairs that a write of one row is sure to fail, because a new value does not match them. In most
 * cases one pair is left. If the write fails all pairs, all of them stay, and the statement refuses the write.
 */
function withoutFailing(entity: Entity, guard: Guard, rows: readonly Assignments[]): Guard {
  const [values] = rows
  if (guard.pairs.length === 1 || !values || rows.length > 1) return guard
  const isFailing = (filter: Filter) => isDecided(entity, filter) && values.has(filter.property) && !isMatched(filter, values)
  const indexes = [...guard.pairs.keys()].filter((at) => !guard.pairs[at]?.after.some(isFailing))
  if (indexes.length === 0 || indexes.length === guard.pairs.length) return guard
  const reduced = reducedGuards(guard)
  const known = reduced.get(indexes.join())
  if (known) return known
  const rest = { ...guard, pairs: guard.pairs.filter((_, at) => indexes.includes(at)) }
  const made = { ...rest, shape: shapeOfGuard(rest) }
  reduced.set(indexes.join(), made)
  return made
}

/**
 * Number of reduced guards in one generation of a guard's cache. The cache has two generations, so it keeps at least this many.
 */
const REDUCED_MAX = 64

/**
 * Caches the reduced guards of each guard, by the indexes of the pairs that are left. For the same indexes it gives the same
 * object, so `checkedOf`, which caches by the object, computes nothing again.
 */
const reducedGuards = memoize((_: Guard) => new LruCache<Guard>(2 * REDUCED_MAX, () => 1))

/** Returns a test for rows that a write has returned: whether the answer may show the row to a key with this view. */
export const readableTest = memoize(({ whole, filters }: View): ((row: Row) => boolean) => {
  const { properties } = whole
  // The statement has decided whether the key may read the row. The result is in the column after the transaction.
  if (!decidesReadable(whole, filters)) return (row) => row[properties.length + 1] === 't'
  const conditions = filters.map((filter) => ({ filter, index: properties.indexOf(filter.property) }))
  return (row) => conditions.every(({ filter, index }) => equalityHolds(filter, row[index] ?? null))
})

/** Returns whether this process can tell from a written row if the answer may show it, without asking PostgreSQL. */
function decidesReadable(entity: Entity, filters: readonly Filter[]): boolean {
  // If a row refers to itself, PostgreSQL updates its copied values only after the statement has returned the row. So this
  // process does not know them.
  const copies = selfCopiesOf(entity).map(({ copy }) => entity.properties[copy])
  return filters.every((filter) => isDecided(entity, filter) && !copies.includes(filter.property))
}

const checkedOf = memoize((entity: Entity) =>
  memoize((guard: Guard): Checked => {
    const decided = guard.pairs.flatMap(({ after }) => after.filter((filter) => isDecided(entity, filter)))
    const readable = guard.readable && decidesReadable(entity, guard.readable) ? [] : guard.readable
    const otherwise = { ...guard, readable, shape: `${guard.shape} readable ${readable?.length}` }
    const pairs = guard.pairs.map(({ before, after }) => ({
      before,
      after: after.filter((filter) => !decided.includes(filter)),
    }))
    // A pair without conditions admits the write by itself. The other pairs are dropped: the statement would not use their
    // values, and PostgreSQL could not infer the types of unused parameters.
    const admitting = pairs.find(admitsAll)
    const ifMatched = { ...otherwise, pairs: admitting ? [admitting] : pairs, shape: `${otherwise.shape} matched` }
    return { decided, ifMatched: nullIfNothing(ifMatched), otherwise: nullIfNothing(otherwise) }
  }),
)

function isDecided({ properties }: Entity, filter: Filter): boolean {
  return isEquality(filter) && properties.includes(filter.property)
}

/** Returns whether the write sets the filter's property to a value that matches. */
function isMatched(filter: Filter, values: Assignments): boolean {
  const value = values.get(filter.property)
  if (value === undefined) return false
  return equalityHolds(filter, value === null ? null : filter.property.kind.printFilter(value))
}

function admitsAll({ before, after }: Guard['pairs'][number]): boolean {
  return before.length === 0 && after.length === 0
}

function nullIfNothing(guard: Guard): Guard | null {
  const { pairs, references, readable } = guard
  return pairs.some(admitsAll) && references.size === 0 && (readable ?? []).length === 0 ? null : guard
}

/** Function that returns the value of a property in SQL: a column of a row, or what a write sets. */
export type ValueOf = (property: Property) => Sql

/** A filter, with the parameters for its values. */
export interface Condition {
  readonly filter: Filter
  readonly operands: readonly Param[]
}

/** Conditions of a guard in one statement, with their parameters. */
export interface GuardParts {
  readonly pairs: readonly { readonly before: readonly Condition[]; readonly after: readonly Condition[] }[]
  /** Conditions that a referenced row must match, by the changed reference that names it. */
  readonly references: ReadonlyMap<Property, readonly Condition[]>
  /**
   * Conditions that a written row must match for the answer to show it. Empty if the key may read every row, or no row at all.
   */
  readonly readable: readonly Condition[]
  /** The parameters, in the order of `guardValues`. */
  readonly params: readonly Param[]
}

/** Parts for a write without a guard: nothing is checked. */
const UNGUARDED: GuardParts = { pairs: [{ before: [], after: [] }], references: new Map(), readable: [], params: [] }

/** Returns the parts of a guard for a statement. `changed`: properties that the write sets; null for a deletion. */
export function guardParts(guard: Guard | null, changed: readonly Property[] | null): GuardParts {
  if (guard === null) return UNGUARDED
  const params: Param[] = []
  const bind = (filters: readonly Filter[]) => {
    const conditions = bindFilters(filters)
    params.push(...conditions.flatMap(({ operands }) => operands))
    return conditions
  }
  return {
    pairs: guard.pairs.map(({ before, after }) => ({ before: bind(before), after: bind(after) })),
    references: new Map(restrictedReferences(guard, changed).map(([property, filters]) => [property, bind(filters)])),
    readable: changed === null ? [] : bind(guard.readable ?? []),
    params,
  }
}

/** Returns the filters as conditions, with a new parameter for each of their values. */
export function bindFilters(filters: readonly Filter[]): Condition[] {
  return filters.map((filter) => ({ filter, operands: valuesOf([filter]).map(param) }))
}

/** Returns the values of a guard for a statement, in the order of `GuardParts.params`. */
export function guardValues(guard: Guard | null, changed: readonly Property[] | null): string[] {
  if (guard === null) return []
  return [
    ...guard.pairs.flatMap(({ before, after }) => [...valuesOf(before), ...valuesOf(after)]),
    ...restrictedReferences(guard, changed).flatMap(([, filters]) => valuesOf(filters)),
    ...(changed === null ? [] : valuesOf(guard.readable ?? [])),
  ]
}

/** Returns the shape of a guard: the same text for guards that compile to the same SQL, whatever their values. */
export function shapeOfGuard({ pairs, references, readable }: Omit<Guard, 'shape'>): string {
  const referred = [...references].map(([{ column }, filters]) => ` ${column}:${shapeOf(filters)}`).join('')
  const conditions = pairs.map(({ before, after }) => `${shapeOf(before)}>${shapeOf(after)}`).join('/')
  return `${conditions}|${referred}|${readable ? shapeOf(readable) : '-'}`
}

/** Returns what a guard adds to the cache key of a statement; '' without a guard. */
export function guardShape(guard: Guard | null): string {
  return guard === null ? '' : ` guard ${guard.shape}`
}

/** Returns the changed references that may name only some rows, each with the filters that these rows match. */
function restrictedReferences({ references }: Guard, changed: readonly Property[] | null): [Property, readonly Filter[]][] {
  return (changed ?? []).flatMap((property): [Property, readonly Filter[]][] => {
    const filters = references.get(property)
    return filters ? [[property, filters]] : []
  })
}

/** Returns a function that gives a property's column in a stored row. `prefix`: the name of the row and a dot, or nothing. */
export function storedValue(prefix: Sql): ValueOf {
  return ({ column }) => sql`${prefix}${name(column)}`
}

/** Returns the value of each property after the write: the new one if it is changed, else the stored one. */
export function newValue(changed: readonly Property[], operands: readonly Operand[], stored: ValueOf): ValueOf {
  return (property) => {
    const at = changed.indexOf(property)
    return at < 0 ? stored(property) : typedValue(property, sql`${(operands[at] as Operand).param}`)
  }
}

/** Casts a value to the type of its property, and gives a text the collation of its column, by which texts are compared. */
export function typedValue({ kind }: Property, value: Sql): Sql {
  const typed = sql`${value}::${typeName(kind.columnType)}`
  return kind.isText ? sql`(${typed} collate "und-x-icu")` : typed
}

/** Returns conditions that a row is within reach of the write: before the write, it matches what one of the pairs requires. */
export function reachConditions({ pairs }: GuardParts, stored: ValueOf): Sql[] {
  return anyOf(pairs.map(({ before }) => conditionsOf(before, stored)))
}

/** Returns conditions that a row matches one pair, with `stored` before the write and `written` after it. */
export function admittedConditions({ pairs }: GuardParts, stored: ValueOf, written: ValueOf): Sql[] {
  return anyOf(pairs.map(({ before, after }) => [...conditionsOf(before, stored), ...conditionsOf(after, written)]))
}

/** Returns the conditions that are left to check for a row that is known to be within reach. */
export function remainingConditions(parts: GuardParts, stored: ValueOf, written: ValueOf): Sql[] {
  const [first, ...others] = parts.pairs
  return first && others.length === 0 ? conditionsOf(first.after, written) : admittedConditions(parts, stored, written)
}

/**
 * Joins conditions of a batch so that PostgreSQL does not estimate how many rows match the values of a guard. With such an
 * estimate, a plan for these values could seem cheaper than the generic plan. PostgreSQL would then plan each batch anew, which
 * takes a quarter of the batch's time.
 */
export function withoutEstimate(conditions: readonly Sql[]): Sql[] {
  return conditions.length === 0 ? [] : [sql`case when ${join(conditions, sql` and `)} then true else false end`]
}

/**
 * Selects, in the column after the row's transaction, whether the key may read the written row. Without conditions in `readable`
 * it selects nothing.
 */
export function readableColumn(entity: Entity, { readable }: GuardParts, prefix: Sql): Sql {
  if (readable.length === 0) return sql``
  const conditions = conditionsOf(readable, returnedValue(entity, prefix))
  return sql`, case when ${join(conditions, sql` and `)} then 't' else 'f' end`
}

/**
 * Returns the table that a reference names, or a query of its rows that match the conditions. `alias`: name for the rows; null:
 * the name of the table.
 */
export function referredRows(table: string, conditions: readonly Condition[], alias: Sql | null = null): Sql {
  if (conditions.length === 0) return alias === null ? name(table) : sql`${name(table)} as ${alias}`
  const matched = join(conditionsOf(conditions, storedValue(sql``)), sql` and `)
  return sql`(select * from ${name(table)} where ${matched}) as ${alias ?? name(table)}`
}

export function conditionsOf(conditions: readonly Condition[], value: ValueOf): Sql[] {
  const foldedOf = (property: Property) => foldSql(value(property))
  const row: RowSql = { valueOf: value, foldedOf, hasIdArrays: false }
  return conditions.map(({ filter, operands }) => compileFilter(filter, operands, row))
}

/**
 * Joins alternatives by `or`. If an alternative has no conditions, it admits every row, so no condition is returned. Without
 * alternatives no row matches.
 */
function anyOf(alternatives: readonly Sql[][]): Sql[] {
  const [first, ...others] = alternatives
  if (!first) return [sql`false`]
  if (alternatives.some((conditions) => conditions.length === 0)) return []
  if (others.length === 0) return first
  const joined = alternatives.map((conditions) => sql`(${join(conditions, sql` and `)})`)
  return [sql`(${join(joined, sql` or `)})`]
}

/**
 * Returns the values of a written row as they will be stored. If the row refers to itself, PostgreSQL updates its copied values
 * only after the statement has returned the row. So this function reads these values from the properties that they copy.
 */
function returnedValue(entity: Entity, prefix: Sql): ValueOf {
  const stored = storedValue(prefix)
  const propertyAt = (index: number) => entity.properties[index] as Property
  const copies = new Map(selfCopiesOf(entity).map((indexes) => [propertyAt(indexes.copy), indexes]))
  return (property) => {
    const copy = copies.get(property)
    if (!copy) return stored(property)
    const isOwn = sql`${stored(propertyAt(copy.reference))} = ${stored(entity.id)}`
    return sql`case when ${isOwn} then ${stored(propertyAt(copy.source))} else ${stored(property)} end`
  }
}
