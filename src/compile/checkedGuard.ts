// Parts of a guard that the statement of a write checks. Conditions by equality are decided in this process (D90), so that the
// statements of most keys of few rights are those of a key of all rights.
import type { Guard } from '../model/access.ts'
import { selfCopiesOf } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { equalityHolds, isEquality } from '../model/equalities.ts'
import { LruCache } from '../model/lruCache.ts'
import { memoize } from '../model/memoize.ts'
import type { Assignments, Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { shapeOfGuard } from './guard.ts'

/** A guard, and what of it is left for statements. */
interface Checked {
  /** Conditions after the write that this process decides. */
  readonly decided: readonly Filter[]
  /** Rest of the guard for the statement, if the new values match them. Null: nothing. */
  readonly ifMatched: Guard | null
  /** Guard for the statement, if they do not, or the write does not set all of them. Null: nothing. */
  readonly otherwise: Guard | null
}

/** Returns the part of a guard that the statement of a write has to check; null: none. `rows`: the values that each row gets. */
export function checkedGuard(entity: Entity, guard: Guard | null, rows: readonly Assignments[]): Guard | null {
  if (guard === null) return null
  const { decided, ifMatched, otherwise } = checkedOf(entity)(withoutFailing(entity, guard, rows))
  const areMatched = rows.every((values) => decided.every((filter) => isMatched(filter, values)))
  return areMatched ? ifMatched : otherwise
}

/**
 * Returns the guard without the pairs that a write of one row surely fails, as those of a right by which it would become
 * something else: mostly one is left. If it fails all, the statement checks them, and refuses the write.
 */
function withoutFailing(entity: Entity, guard: Guard, rows: readonly Assignments[]): Guard {
  const [values] = rows
  if (guard.pairs.length === 1 || !values || rows.length > 1) return guard
  const isFailing = (filter: Filter) => isDecided(entity, filter) && values.has(filter.property) && !isMatched(filter, values)
  const places = [...guard.pairs.keys()].filter((at) => !guard.pairs[at]?.after.some(isFailing))
  if (places.length === 0 || places.length === guard.pairs.length) return guard
  const parts = partsOf(guard)
  const known = parts.get(places.join())
  if (known) return known
  const part = { ...guard, pairs: guard.pairs.filter((_, at) => places.includes(at)) }
  const made = { ...part, shape: shapeOfGuard(part) }
  parts.set(places.join(), made)
  return made
}

/** Maximum parts of a guard that are kept. */
const PARTS_MAX = 64

/** Parts of a guard, by the places of their pairs: always the same objects. */
const partsOf = memoize((_: Guard) => new LruCache<Guard>(2 * PARTS_MAX, () => 1))

/** Returns a test of whether the answer to a write may show a row that it has written, to a key with this view. */
export const readableTest = memoize(({ whole, filters }: View): ((row: Row) => boolean) => {
  const { properties } = whole
  // What the statement has decided is in the column after the transaction.
  if (!decidesReadable(whole, filters)) return (row) => row[properties.length + 1] === 't'
  const conditions = filters.map((filter) => ({ filter, index: properties.indexOf(filter.property) }))
  return (row) => conditions.every(({ filter, index }) => equalityHolds(filter, row[index] ?? null))
})

/** Returns whether this process decides from a written row if an answer may show it. */
function decidesReadable(entity: Entity, filters: readonly Filter[]): boolean {
  // PostgreSQL updates copies within the row itself after the statement has returned it.
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
    const ifMatched = { ...otherwise, pairs, shape: `${otherwise.shape} matched` }
    return { decided, ifMatched: nullIfNothing(ifMatched), otherwise: nullIfNothing(otherwise) }
  }),
)

function isDecided({ properties }: Entity, filter: Filter): boolean {
  return isEquality(filter) && properties.includes(filter.property)
}

/** Returns whether the values have a value for the filter, which matches. */
function isMatched(filter: Filter, values: Assignments): boolean {
  const value = values.get(filter.property)
  if (value === undefined) return false
  return equalityHolds(filter, value === null ? null : filter.property.kind.printFilter(value))
}

function nullIfNothing(guard: Guard): Guard | null {
  const { pairs, references, readable } = guard
  const admitsAll = pairs.some(({ before, after }) => before.length === 0 && after.length === 0)
  return admitsAll && references.size === 0 && (readable ?? []).length === 0 ? null : guard
}
