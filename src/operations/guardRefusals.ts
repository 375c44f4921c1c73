// Refusals by a guard: which rows a write may reach, and what it would have to write instead. A message names only properties
// that the key may read or set.
import { compileComparison, compileRowComparisons, type GuardCondition, guardConditions } from '../compile/comparisons.ts'
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Guard } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Assignments, type Filter, isOfOtherRows, ownProperties, ownProperty } from '../model/query.ts'
import { arrayText, type Row } from '../model/sql.ts'
import { listed } from '../parse/names.ts'
import type { RowReads } from './rowReads.ts'

/** Adds a row's index to a fault; if the body was one object, it returns the fault as it is. */
export type FaultOf = (index: number, fault: Fault) => Fault

/** The entity with the properties that the key may read or set; null: it sees none. */
export type Seen = Entity | null

/**
 * Conditions that a refusal is about: `own` values of the row alone, or `all`, also those on the rows that its references name. A
 * reference that names no row, or none that the key may read, is reported between the two; otherwise the answer would reveal
 * whether a hidden row matches, and so that it exists.
 */
export type Extent = 'own' | 'all'

/** Returns the fault; if the key does not see its property, since its right has set that, then without the name. */
export function asSeen(fault: Fault, seen: Seen): Fault {
  if (fault.target === 'Body' || seen?.properties.some(({ name }) => name === fault.target)) return fault
  const message = `What the key’s right sets ${fault.code === 'AlreadyExists' ? 'is not free' : 'names no row'}.`
  return { code: fault.code, target: 'Body', message }
}

/** Explains writes of one entity that a guard does not admit. */
export class GuardRefusals {
  constructor(
    private readonly entity: Entity,
    private readonly reads: RowReads,
    private readonly database: Database,
  ) {}

  /**
   * Finds a row that the key may read or write, in the form of `compileComparison`. `changes`: what the write sets. @throws
   * ApiError NotFound
   */
  async find(id: string, guard: Guard, changes: Assignments): Promise<Row> {
    const [row] = await this.database.read(compileComparison(this.entity, id, guard, changes))
    if (!row || !(this.isReadable(row) || this.isWithinReach(row, guard))) throw this.reads.notFound(id)
    return row
  }

  /** Error of a write to a row that is not within reach; null if it is. `row`: from `find`. */
  refusalOfReach(row: Row, guard: Guard, seen: Seen, verb: 'update' | 'delete'): ApiError | null {
    if (this.isWithinReach(row, guard)) return null
    const { name, plural } = this.entity
    const rule = `The key may only ${verb} ${plural} with`
    const failed = this.failedFilters(row, guard, seen, 'before')
    const faults = failed.map((filter) => forbidden(filter.property, `${rule} ${textOf(filter)}.`))
    if (faults.length > 0) return faultsError(faults)
    return new ApiError('Forbidden', `The key’s right to ${verb} ${plural} is not for ${name} ${row[0]}.`)
  }

  /** Error of an update after which the row would leave what the right admits; null if it would not. `row`: from `find`. */
  refusalOfChange(row: Row, guard: Guard, seen: Seen, extent: Extent): ApiError | null {
    if (this.isAdmitted(this.holding(row), guard, extent)) return null
    const failed = this.failedFilters(row, guard, seen, 'after')
    const faults = failed.filter((filter) => extent === 'all' || !isOfOtherRows(filter)).map(afterFault)
    if (faults.length > 0) return faultsError(faults)
    return new ApiError('Forbidden', `The key’s right to update ${this.entity.plural} does not admit this change.`)
  }

  /** Error of new rows that the guard does not admit; null if it admits all. */
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
      const failed = failedOf(conditions, holds, seen, 'after')
      const message = `The key’s right to create ${this.entity.plural} does not admit this row.`
      const unnamed: Fault = { code: 'Forbidden', target: 'Body', message }
      return (failed.length > 0 ? failed.map(afterFault) : [unnamed]).map((fault) => faultOf(Number(number) - 1, fault))
    })
    return faults.length === 0 ? null : faultsError(faults.slice(0, FAULTS_MAX))
  }

  private isReadable(row: Row): boolean {
    return row[this.entity.properties.length + 1] === 't'
  }

  /** Returns for each condition of the guard whether it holds. */
  private holding(row: Row): Row {
    return row.slice(this.entity.properties.length + 2)
  }

  private isWithinReach(row: Row, guard: Guard): boolean {
    const holds = this.holding(row)
    const conditions = guardConditions(guard)
    return guard.pairs.some((_, pair) =>
      conditions.every((condition, index) => condition.pair !== pair || condition.time === 'after' || holds[index] === 't'),
    )
  }

  private isAdmitted(holds: Row, guard: Guard, extent: Extent): boolean {
    const conditions = guardConditions(guard)
    const isLater = ({ time, filter }: GuardCondition) => extent === 'own' && time === 'after' && isOfOtherRows(filter)
    return guard.pairs.some((_, pair) =>
      conditions.every((condition, index) => condition.pair !== pair || isLater(condition) || holds[index] === 't'),
    )
  }

  private failedFilters(row: Row, guard: Guard, seen: Seen, time: GuardCondition['time']): Filter[] {
    return failedOf(guardConditions(guard), this.holding(row), seen, time)
  }
}

/** Returns the guard of new rows without conditions on other rows. */
function ofOwnValues(guard: Guard): Guard {
  const pairs = guard.pairs.map(({ before, after }) => ({ before, after: after.filter((one) => !isOfOtherRows(one)) }))
  return { ...guard, pairs }
}

/**
 * Returns the filters that failed, of properties that the key sees. None if the guard has several pairs: then no single filter
 * is the cause. One by a path is named only where the write sets its reference, and then once: which property of the other row
 * does not match is hidden.
 */
function failedOf(conditions: readonly GuardCondition[], holds: Row, seen: Seen, time: GuardCondition['time']): Filter[] {
  if (conditions.some(({ pair }) => pair > 0)) return []
  const failed: Filter[] = []
  for (const [index, condition] of conditions.entries()) {
    const { property } = condition.filter
    const named = time === 'after' ? ownProperty(property) : property
    if (condition.time !== time || holds[index] === 't' || !seen?.properties.includes(named)) continue
    const isNamed = property.related !== null && failed.some((other) => other.property.related?.reference === named)
    if (!isNamed) failed.push(condition.filter)
  }
  return failed
}

function forbidden({ name }: Property, message: string): Fault {
  return { code: 'Forbidden', target: name, message }
}

/** Fault of a value that a row may not have after the write. */
function afterFault(filter: Filter): Fault {
  const { property, operator, value, anyOf } = filter
  if (property.related !== null) {
    const { reference } = property.related
    return forbidden(reference, `After the write, ${reference.name} must name another row: the key has no right to this one.`)
  }
  const values = anyOf ?? (operator.sign === '=' ? [value] : [])
  const names = values.map((one) => one ?? 'empty')
  const rule = names.length === 0 ? `match ${textOf(filter)}` : `be ${listed(names, 'or')}`
  return forbidden(property, `After the write, ${property.name} must ${rule}: the key has no right to another value.`)
}

/** A filter as a client writes it. */
function textOf({ property: { name }, operator: { sign, isAny }, value, anyOf }: Filter): string {
  if (isAny) return (anyOf ?? []).map((one) => `${name}${sign}=${one ?? ''}`).join('&')
  if (sign.startsWith('[')) return `${name}${sign}=${value ?? ''}`
  return `${name}=${sign === '=' ? '' : sign}${value ?? ''}`
}
