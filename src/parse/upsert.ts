// Bodies of upserts: each row changes the stored row with the same value of one property, or is created if there is no such row.
// D115
import { ApiError, FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Access, CreateAccess, CreateRight, UpdateAccess, WriteRight } from '../model/access.ts'
import { type Entity, keyOf, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { Mismatch } from '../model/kinds.ts'
import { haveOf } from '../model/names.ts'
import type { Assignments } from '../model/query.ts'
import type { View } from '../model/view.ts'
import { yieldEvery } from '../os/time.ts'
import { checkPartial, completeRow, nearestRight, type ParsedBody, parseBody } from './assignments.ts'
import { isObject, type JsonObject } from './body.ts'
import { findMember } from './names.ts'
import { suggestOrList } from './nearestProperty.ts'
import { orFaults } from './rows.ts'

/** Function that adds a row's index to a fault, or returns the fault as it is if the body was a single object. */
type FaultOf = (index: number, fault: Fault) => Fault

/**
 * Finds the property that `match` names. `view`: null if the caller may read no rows. @throws ApiError InvalidMatch, Forbidden
 */
export function parseMatch(entity: Entity, view: View | null, name: string): Property {
  if (view === null) {
    const message = `match looks for rows, and you have no right to read ${entity.plural}: create them without it.`
    throw new ApiError('Forbidden', message, { target: 'match' })
  }
  const found = findMember(view, name)
  const property = view.properties.find((one) => one === found)
  if (property !== undefined && isMatchable(entity, property)) return property
  throw new ApiError('InvalidMatch', faultOfMatch(entity, view, name, found?.name ?? null), { target: 'match' })
}

/** True if values of the property can tell rows apart. A part of an object cannot, because the object can be null. */
function isMatchable({ id }: Entity, property: Property): boolean {
  if (property === id) return true
  return property.writable && property.path.length === 1 && property.indexed && property.kind.jsonType !== 'boolean'
}

function faultOfMatch(entity: Entity, view: View, name: string, known: string | null): string {
  const candidates = view.properties.filter((property) => isMatchable(entity, property))
  if (name === '') return `match is the name of a property.${suggestOrList('', candidates)}`
  if (known !== null) return `match cannot be ${known}, by which rows are not told apart.${suggestOrList('', candidates)}`
  return `${view.plural} ${haveOf(view)} no property "${excerpt(name)}".${suggestOrList(name, candidates)}`
}

/** A row of the body, with the value by which its stored row is looked for. */
export interface MatchedRow {
  readonly index: number
  /** The row as JSON; null: the row is no object. */
  readonly body: JsonObject | null
  /** The value as text for PostgreSQL; null: the value is missing or wrong. */
  readonly value: string | null
  readonly faults: readonly Fault[]
}

/** Reads the value of the matched property from each row. `values`: the rows, parsed from JSON. */
export function findMatched(matched: Property, values: readonly unknown[], faultOf: FaultOf): MatchedRow[] {
  const firsts = new Map<string, number>()
  return values.map((body, index) => {
    if (!isObject(body)) {
      const target = `[${index}]`
      return {
        index,
        body: null,
        value: null,
        faults: [{ code: 'InvalidValue', target, message: `${target} must be an object.` }],
      }
    }
    const fault = (code: Fault['code'], message: string): MatchedRow => {
      return { index, body, value: null, faults: [faultOf(index, { code, target: matched.name, message })] }
    }
    const [name, other] = namesOf(matched, body)
    if (other !== undefined) return fault('DuplicateProperty', `${matched.name} is given twice, in names that differ by case.`)
    const given = name === undefined ? null : body[name]
    if (given === null || given === '')
      return fault('InvalidValue', `${matched.name} is required, since rows are found by it: it must be ${matched.kind.allowed}.`)
    try {
      const value = matched.kind.parseJson(given) as string
      const first = firsts.getOrInsert(value, index)
      if (first === index) return { index, body, value, faults: [] }
      return fault('AlreadyExists', `${matched.name} is in the body twice: [${first}] has this value.`)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      return fault('InvalidValue', `${matched.name} ${error.message}.`)
    }
  })
}

/** Returns the names in a body that mean the matched property. */
function namesOf(matched: Property, body: JsonObject): string[] {
  const key = keyOf(matched).toLowerCase()
  return Object.keys(body).filter((name) => name.toLowerCase() === key)
}

/** A row that is created. */
interface CreatedRow {
  readonly index: number
  readonly values: Assignments
}

/** A stored row to change. It stays as it is if it has these values already. */
interface UpdatedRow {
  readonly index: number
  readonly id: string
  /** Value of the matched property. */
  readonly matched: string
  readonly values: Assignments
}

/**
 * The rows of a body, divided into new and stored rows. `right`: the right that creates the new rows; null if there are no new
 * rows.
 */
export interface UpsertRows {
  readonly creates: readonly CreatedRow[]
  readonly right: CreateRight | null
  readonly updates: readonly UpdatedRow[]
  /** Properties that the body sets in at least one stored row, in the entity's order. */
  readonly changed: readonly Property[]
}

/**
 * Parses rows after their stored rows have been looked up. `ids`: for each row the id of its stored row; null: the row is new.
 * One right must create all new rows, and one right must let the caller set all properties that the body sets in stored rows.
 * D104 @throws ApiError with the faults of all rows
 */
export async function parseUpsert(
  entity: Entity,
  access: Pick<Access, 'create' | 'update'>,
  matched: Property,
  rows: readonly MatchedRow[],
  ids: readonly (string | null)[],
  faultOf: FaultOf,
): Promise<UpsertRows> {
  const turn = yieldEvery()
  const faults: Fault[] = []
  const create: Parsed[] = []
  const update: Parsed[] = []
  for (const row of rows) {
    if (faults.length >= FAULTS_MAX) break
    faults.push(...row.faults)
    const parsed = parseRow(entity, access, matched, row, ids[row.index] ?? null, faults, faultOf)
    if (row.value === null) faults.push(...(parsed?.body.faults ?? []).map((fault) => faultOf(row.index, fault)))
    else if (parsed !== null) (parsed.id === null ? create : update).push(parsed)
    const others = turn()
    if (others !== null) await others
  }
  const { create: createAccess, update: updateAccess } = access
  const right = create.length === 0 ? null : nearestRight((createAccess as CreateAccess).rights, bodiesOf(create))
  const creates = create.flatMap(({ row: { index }, body }) => {
    const done = orFaults(
      index,
      faults,
      () => completeRow(entity, createAccess as CreateAccess, right as CreateRight, body),
      faultOf,
    )
    return done === null ? [] : { index, values: done.values }
  })
  const updateRight = update.length === 0 ? null : nearestRight((updateAccess as UpdateAccess).rights, bodiesOf(update))
  const updates = update.flatMap(({ row: { index, value }, id, body }) => {
    const check = () => checkPartial(entity, updateAccess as UpdateAccess, updateRight as WriteRight, body)
    const values = orFaults(index, faults, check, faultOf)
    return values === null ? [] : { index, id: id as string, matched: value as string, values }
  })
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX))
  const given = new Set(updates.flatMap(({ values }) => [...values.keys()]))
  return { creates, right, updates, changed: entity.properties.filter((property) => given.has(property)) }
}

interface Parsed {
  readonly row: MatchedRow
  readonly id: string | null
  readonly body: ParsedBody
}

const bodiesOf = (parsed: readonly Parsed[]) => parsed.map(({ body }) => body)

/**
 * Parses the values that one row sets. Returns null if the row is no object, or if it must not be written; `faults` then says
 * why.
 */
function parseRow(
  entity: Entity,
  { create, update }: Pick<Access, 'create' | 'update'>,
  matched: Property,
  row: MatchedRow,
  id: string | null,
  faults: Fault[],
  faultOf: FaultOf,
): Parsed | null {
  const { index, body, value } = row
  if (body === null) return null
  const isStored = id !== null || value === null
  if (!isStored && matched === entity.id) {
    const message = `${matched.name} names no ${entity.name}: there is none with id ${value}.`
    faults.push(faultOf(index, { code: 'ReferenceNotFound', target: matched.name, message }))
    return null
  }
  const own = isStored ? update : create
  if (own === null) {
    const which = isStored
      ? `to update ${entity.plural}, and ${entity.name} ${id} has`
      : `to create ${entity.plural}, and none has`
    const message = `You have no right ${which} this ${matched.name}.`
    if (value !== null) faults.push(faultOf(index, { code: 'Forbidden', target: matched.name, message }))
    return null
  }
  const rest = isStored
    ? Object.fromEntries(Object.entries(body).filter(([name]) => !namesOf(matched, body).includes(name)))
    : body
  const parsed = orFaults(index, faults, () => parseBody(entity, own, rest), faultOf)
  return parsed === null ? null : { row, id, body: parsed }
}
