// Explains refusals by a guard: which rows a write may reach, and which values it would have to write instead. A message names
// only properties that the key may read or set.
import { compileComparison, compileRowComparisons, type GuardCondition, guardConditions } from '../compile/comparisons.ts'
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Guard } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Assignments, type Filter, isOfOtherRows, ownProperties, ownProperty } from '../model/query.ts'
import { arrayText, type Row } from '../model/sql.ts'
import { listed } from '../parse/names.ts'
import type { RowReads } from './rowReads.ts'

/** Function that adds a row's index to a fault. If the body was one object, it returns the fault as it is. */
export type FaultOf = (index: number, fault: Fault) => Fault

/** The entity with the properties that the key may read or set; null: the key may read or set no property. */
export type Seen = Entity | null

/**
 * Conditions that a refusal is about. `own`: conditions on values of the row itself. `all`: also conditions on rows that its
 * references name. A reference to a missing or unreadable row is reported after `own` conditions, but before conditions on
 * referenced rows. Otherwise the answer would reveal whether a hidden row matches, and thereby that the hidden row exists.
 */
export type Extent = 'own' | 'all'

/**
 * Returns the fault as the key may see it. If the key does not see the property, the fault says only that the key's right sets
 * the value.
 */
export function asSeen(fault: Fault, seen: Seen): Fault {
  if (fault.target === 'Body' || seen?.properties.some(({ name }) => name === fault.target)) return fault
  const message = `What your right sets ${fault.code === 'AlreadyExists' ? 'is not free' : 'names no row'}.`
  return { code: fault.code, target: 'Body', message }
}

/** Explains why a guard does not admit writes of one entity. */
export class GuardRefusals {
  constructor(
    private readonly entity: Entity,
    private readonly reads: RowReads,
    private readonly database: Database,
  ) {}

  /**
   * Returns a row that the key may read or write, with all columns of `compileComparison`. `changes`: what the write sets.
   * `reach`: guard of all rights to this kind of write; null: these rights admit every row. @throws ApiError NotFound
   */
  async find(id: string, guard: Guard, changes: Assignments, reach: Guard | null = guard): Promise<Row> {
    const [row] = await this.database.read(compileComparison(this.entity, id, guard, changes))
    if (!row) throw this.reads.notFound(id)
    if (this.isReadable(row) || this.isWithinReach(row, guard) || reach === null) return row
    if (reach === guard) throw this.reads.notFound(id)
    await this.find(id, reach, new Map())
    return row
  }

  /** Returns the error of a write to a row that is out of reach; null if the row is within reach. `row`: as `find` returns it. */
  refusalOfReach(row: Row, guard: Guard, seen: Seen, verb: 'update' | 'delete'): ApiError | null {
    if (this.isWithinReach(row, guard)) return null
    const { name, plural } = this.entity
    const rule = guard.pairs.length === 1 ? `You may only ${verb}` : `Your nearest right is to ${verb}`
    const compared = compare(guard, this.holding(row)).filter(({ time }) => time === 'before')
    const failed = failedOf(nearestPair(compared), seen)
    const faults = failed.map((filter) => forbidden(filter.property, `${rule} ${plural} with ${textOf(filter)}.`))
    if (faults.length > 0) return faultsError(faults)
    return new ApiError('Forbidden', `Your right to ${verb} ${plural} is not for ${name} ${row[0]}.`)
  }

  /**
   * Returns the error of an update that would give the row values which the guard does not admit; null if the guard admits them.
   * `row`: as `find` returns it.
   */
  refusalOfChange(row: Row, guard: Guard, seen: Seen, extent: Extent): ApiError | null {
    const compared = compare(guard, this.holding(row), extent)
    if (pairsThatHold(guard, compared).length > 0) return null
    const reaching = pairsThatHold(
      guard,
      compared.filter(({ time }) => time === 'before'),
    )
    const after = compared.filter(({ time, pair }) => time === 'after' && reaching.includes(pair))
    const faults = failedOf(nearestPair(after), seen).map((filter) => afterFault(filter, reaching.length === 1))
    if (faults.length > 0) return faultsError(faults)
    return new ApiError('Forbidden', `Your right to update ${this.entity.plural} does not admit this change.`)
  }

  /** Returns the error of new rows that the guard does not admit; null if it admits all of them. */
  async refusalOfRows(
    rows: readonly Assignments[],
    whole: Guard,
    seen: Seen,
    extent: Extent,
    faultOf: FaultOf,
  ): Promise<ApiError | null> {
    const guard = extent === 'own' ? ofOwnValues(whole) : whole
    const conditions = guardConditions(guard)
    const properties = [...new Set(conditions.flatMap(({ filter }) => ownProperties(filter)))]
    if (properties.length === 0) return null
    const values = properties.map((property) => arrayText(rows.map((row) => row.get(property) ?? null)))
    const refused = await this.database.read(compileRowComparisons(properties, values, guard, FAULTS_MAX))
    const faults = refused.flatMap(([number, ...holds]) => {
      const failed = failedOf(nearestPair(compare(guard, holds)), seen)
      const message = `Your right to create ${this.entity.plural} does not admit this row.`
      const unnamed: Fault = { code: 'Forbidden', target: 'Body', message }
      const own = failed.length > 0 ? failed.map((filter) => afterFault(filter, guard.pairs.length === 1)) : [unnamed]
      return own.map((fault) => faultOf(Number(number) - 1, fault))
    })
    return faults.length === 0 ? null : faultsError(faults.slice(0, FAULTS_MAX))
  }

  private isReadable(row: Row): boolean {
    return row[this.entity.properties.length + 1] === 't'
  }

  /** Returns the columns that say for each condition of the guard whether it holds. */
  private holding(row: Row): Row {
    return row.slice(this.entity.properties.length + 2)
  }

  private isWithinReach(row: Row, guard: Guard): boolean {
    const before = compare(guard, this.holding(row)).filter(({ time }) => time === 'before')
    return pairsThatHold(guard, before).length > 0
  }
}

/** A condition of a guard, and whether the row meets it. */
interface Compared extends GuardCondition {
  readonly holds: boolean
}

/** Returns the conditions of a guard that belong to the extent. Each says whether it holds. */
function compare(guard: Guard, holds: Row, extent: Extent = 'all'): Compared[] {
  const isLater = ({ time, filter }: GuardCondition) => extent === 'own' && time === 'after' && isOfOtherRows(filter)
  return guardConditions(guard)
    .map((condition, index) => ({ ...condition, holds: holds[index] === 't' }))
    .filter((condition) => !isLater(condition))
}

/** Returns the indexes of the guard's pairs whose compared conditions all hold. */
function pairsThatHold({ pairs }: Guard, compared: readonly Compared[]): number[] {
  return [...pairs.keys()].filter((pair) => compared.every((one) => one.pair !== pair || one.holds))
}

/** Returns the conditions of the pair in which the fewest conditions fail; of several such pairs, the first. */
function nearestPair(compared: readonly Compared[]): readonly Compared[] {
  const pairs = [...Map.groupBy(compared, ({ pair }) => pair).values()]
  const failing = (pair: readonly Compared[]) => pair.filter(({ holds }) => !holds).length
  return pairs.reduce((nearest, pair) => (failing(pair) < failing(nearest) ? pair : nearest), pairs[0] ?? [])
}

/** Returns a guard of new rows without its conditions on referenced rows. */
function ofOwnValues(guard: Guard): Guard {
  const pairs = guard.pairs.map(({ before, after }) => ({ before, after: after.filter((one) => !isOfOtherRows(one)) }))
  return { ...guard, pairs }
}

/**
 * Returns the failed filters whose properties the key sees. Of several failed paths that begin with one reference, it returns
 * only the first. So the error does not tell which properties of the referenced row do not match.
 */
function failedOf(compared: readonly Compared[], seen: Seen): Filter[] {
  const failed: Filter[] = []
  for (const { time, filter, holds } of compared) {
    const { property } = filter
    const named = time === 'after' ? ownProperty(property) : property
    if (holds || !seen?.properties.includes(named)) continue
    const isNamed = property.related !== null && failed.some((other) => other.property.related?.reference === named)
    if (!isNamed) failed.push(filter)
  }
  return failed
}

function forbidden({ name }: Property, message: string): Fault {
  return { code: 'Forbidden', target: name, message }
}

/**
 * Returns the fault of a value that a row may not have after the write. `isOnly`: true if only one right could admit the value.
 */
function afterFault(filter: Filter, isOnly: boolean): Fault {
  const { property, operator, value, anyOf } = filter
  const begin = isOnly ? 'After the write' : 'By the nearest right, after the write'
  if (property.related !== null) {
    const { reference } = property.related
    const remedy = isOnly ? 'must name another row: you have no right to this one' : 'must name another row'
    return forbidden(reference, `${begin}, ${reference.name} ${remedy}.`)
  }
  const values = anyOf ?? (operator.sign === '=' ? [value] : [])
  const names = values.map((one) => one ?? 'empty')
  const rule = names.length === 0 ? `match ${textOf(filter)}` : `be ${listed(names, 'or')}`
  const reason = isOnly ? ': you have no right to another value' : ''
  return forbidden(property, `${begin}, ${property.name} must ${rule}${reason}.`)
}

/** Returns a filter as a client writes it. */
function textOf({ property: { name }, operator: { sign, isAny }, value, anyOf }: Filter): string {
  if (isAny) return (anyOf ?? []).map((one) => `${name}${sign}=${one ?? ''}`).join('&')
  if (sign.startsWith('[')) return `${name}${sign}=${value ?? ''}`
  return `${name}=${sign === '=' ? '' : sign}${value ?? ''}`
}
