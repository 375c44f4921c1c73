// Parses the values of a row from a JSON body, checks them against the entity, and reports every fault.
import { FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { BodyAccess, CreateAccess, CreateRight, WriteRight } from '../model/access.ts'
import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { Mismatch } from '../model/kinds.ts'
import { memoize } from '../model/memoize.ts'
import { suggest } from '../model/nearest.ts'
import type { Assignments } from '../model/query.ts'
import { isObject, type JsonObject } from './body.ts'
import { findByName, listed } from './names.ts'
import { suggestProperty } from './nearestProperty.ts'

type Member = Property | Group
type Members = readonly Member[]

/** Access of an operator, who needs no right: a body may set every property that clients write. */
export const wholeBody = memoize((entity: Entity): BodyAccess => {
  const settable = new Set(entity.properties.filter(({ writable }) => writable))
  return { body: entity, settable, rights: [{ settable }] }
})

/** Values of every writable property of a new row. */
export interface NewRow {
  /**
   * Values that the client sent, and defaults for the properties that it did not send. The claim of an Idempotency-Key has a hash
   * of these values.
   */
  readonly sent: Assignments
  /** Values to write: the value that was sent, else the value that the right sets, else the default. */
  readonly values: Assignments
}

/**
 * Parses a new row: every writable property, with the default for each that is missing. Also returns the right that creates the
 * row. Spec 4.1, rule 1. @throws ApiError
 */
export function parseNewRow(entity: Entity, access: CreateAccess, body: JsonObject): NewRow & { readonly right: CreateRight } {
  const parsed = parseBody(entity, access, body)
  const right = nearestRight(access.rights, [parsed])
  return { ...completeRow(entity, access, right, parsed), right }
}

/**
 * Completes a parsed body with the values that the right sets, and with defaults. @throws ApiError that lists every fault of the
 * body
 */
export function completeRow(entity: Entity, access: CreateAccess, right: CreateRight, { given, faults }: ParsedBody): NewRow {
  const { presets } = right
  requireRight(right, given, faults)
  const sent = withDefaults(entity, given)
  const values = presets.size === 0 ? sent : withDefaults(entity, new Map([...presets, ...given]))
  return { sent, values: checked(entity, access, values, faults) }
}

/**
 * Parses a complete row: every writable property, with the default of its kind for each that is missing. Spec 4.1, rule 2.
 * @throws ApiError
 */
export function parseComplete(entity: Entity, access: BodyAccess, body: JsonObject): Assignments {
  const { given, faults } = parseBody(entity, access, body)
  return checked(entity, access, withDefaults(entity, given), faults)
}

/** Parses the properties that the body has; an object is merged part by part. Spec 4.1, rule 3. @throws ApiError */
export function parsePartial(entity: Entity, access: BodyAccess, body: JsonObject): Assignments {
  const parsed = parseBody(entity, access, body)
  return checkPartial(entity, access, nearestRight(access.rights, [parsed]), parsed)
}

/**
 * Returns the values of a parsed body. One right must let the caller set all of them. @throws ApiError that lists every fault of
 * the body
 */
export function checkPartial(entity: Entity, access: BodyAccess, right: WriteRight, { given, faults }: ParsedBody): Assignments {
  requireRight(right, given, faults)
  return checked(entity, access, given, faults)
}

const defaultsOf = memoize(({ properties }: Entity): readonly (readonly [Property, string | null])[] =>
  properties.flatMap((property) => (property.writable ? [[property, property.kind.default] as const] : [])),
)

/** Returns the given values, and the default of each other writable property. */
function withDefaults(entity: Entity, given: Assignments): Assignments {
  const values = new Map(defaultsOf(entity))
  for (const [property, value] of given) values.set(property, value)
  return values
}

/** Values that a body has, and its faults so far. */
export interface ParsedBody {
  readonly given: Assignments
  readonly faults: Fault[]
}

/** Parses the values that a body has. @throws ApiError if the body has as many faults as an error can list */
export function parseBody(entity: Entity, { body: known, settable }: BodyAccess, body: JsonObject): ParsedBody {
  const given = new Map<Property, string | null>()
  const faults: Fault[] = []
  parseObject(entity.name, '', known.members, body, { settable, assignments: given, faults })
  // Required properties are not checked: they may be in the part of the body that was not parsed.
  if (faults.length >= FAULTS_MAX) throw faultsError(faults)
  return { given, faults }
}

/**
 * Returns the first right that lets the caller set all properties of these bodies. If there is no such right, returns the right
 * that lets the caller set the most of these properties.
 */
export function nearestRight<Right extends WriteRight>(rights: readonly Right[], bodies: readonly ParsedBody[]): Right {
  const [first, ...others] = rights
  if (!first) throw new Error('a body is parsed without a right')
  if (others.length === 0) return first
  const given = new Set(bodies.flatMap((body) => [...body.given.keys()]))
  const lacking = ({ settable }: Right) => given.difference(settable).size
  return others.reduce((best, right) => (lacking(right) < lacking(best) ? right : best), first)
}

/** Adds a fault for each given property that the right does not let the caller set: one right must cover the whole body. */
function requireRight({ settable }: WriteRight, given: Assignments, faults: Fault[]) {
  const refused = [...given.keys()].filter((property) => !settable.has(property))
  if (refused.length === 0) return
  const names = [...given.keys()].filter((property) => settable.has(property)).map(({ name }) => name)
  const others = names.length === 0 ? 'what other rows have' : listed(names, 'and')
  for (const { name } of refused)
    faults.push(forbidden(name, `set ${name} together with ${others}, which the nearest right sets`))
}

/**
 * Checks the rules between values, and that required properties have a value. @throws ApiError that lists every fault of the body
 */
function checked(entity: Entity, { body }: BodyAccess, assignments: Assignments, faults: Fault[]): Assignments {
  for (const { later, earlier } of entity.rules) {
    const laterText = assignments.get(later)
    const earlierText = assignments.get(earlier)
    if (laterText && earlierText && laterText < earlierText) faults.push(ruleFault(body, later, earlier))
  }
  for (const property of entity.required)
    if (isLacking(property, assignments.get(property)) && !faults.some(({ target }) => target === property.name))
      faults.push(valueFault(property.name, `is required: it must be ${property.kind.allowed}`))
  if (faults.length > 0) throw faultsError(faults)
  return assignments
}

/** Returns whether a value is missing. For some kinds '' counts as no value, as in filters. */
function isLacking({ kind }: Property, value: string | null | undefined): boolean {
  return value === null || (value === '' && kind.emptyIsNoValue)
}

interface Reading {
  readonly settable: ReadonlySet<Property>
  readonly assignments: Map<Property, string | null>
  readonly faults: Fault[]
}

function parseObject(owner: string, prefix: string, members: Members, object: JsonObject, into: Reading) {
  const { faults } = into
  const find = memberFinder(members)
  const seen = new Set<Member>()
  for (const [key, value] of Object.entries(object)) {
    if (faults.length >= FAULTS_MAX) return
    const member = find(key)
    if (!member) {
      const name = excerpt(key)
      const hint = hintFor(key, members)
      faults.push({ code: 'UnknownProperty', target: prefix + name, message: `${owner} has no property "${name}".${hint}` })
    } else if (seen.has(member)) {
      const message = `${member.name} is given twice, in names that differ by case.`
      faults.push({ code: 'DuplicateProperty', target: member.name, message })
    } else if (isGroup(member)) parseGroup(member, value, into)
    else if (member.writable) parseProperty(member, value, into)
    if (member) seen.add(member)
  }
}

/**
 * Returns a hint with the name that was probably meant. For a part that is written outside of its object, the hint shows the part
 * inside the object: ` Did you mean {"Period":{"Days":...}}?`. For a path, the hint says that the property belongs to the
 * referred row.
 */
function hintFor(key: string, members: Members): string {
  const reference = members.find(
    (member) => isReference(member) && key.toLowerCase().startsWith(`${lastName(member).toLowerCase()}.`),
  )
  if (reference) return ` The properties after ${reference.name}. are those of another row: write them there.`
  const near = suggest(key, members.map(lastName))
  if (near !== '') return near
  const lower = key.toLowerCase()
  for (const part of members.flatMap((member) => (isGroup(member) ? member.properties : [])))
    if (part.writable && (part.name.toLowerCase() === lower || lastName(part).toLowerCase() === lower))
      return ` Did you mean {"${part.name.replace('.', '":{"')}":...}}?`
  const writable = members.filter((member) => isGroup(member) || member.writable)
  return suggestProperty(
    key,
    writable.map((member) => ({ ...member, name: lastName(member) })),
  )
}

function isReference(member: Member): boolean {
  return !isGroup(member) && member.reference !== null
}

function parseGroup(group: Group, value: unknown, into: Reading) {
  if (value === null) clearGroup(group, into)
  else if (isObject(value)) parseObject(group.name, `${group.name}.`, group.properties, value, into)
  else into.faults.push(valueFault(group.name, 'must be an object, or null'))
}

/**
 * Sets the parts of an object to their defaults. Parts that the caller does not see do not exist for the caller. If the caller
 * may not set one of the parts, adds a fault instead.
 */
function clearGroup({ name, properties }: Group, { settable, assignments, faults }: Reading) {
  const parts = properties.filter(({ writable }) => writable)
  const kept = parts.filter((part) => !settable.has(part)).map((part) => part.name)
  if (kept.length === 0) for (const part of parts) assignments.set(part, part.kind.default)
  else faults.push(forbidden(name, `clear ${name}: that would set ${listed(kept, 'and')}`))
}

function parseProperty(property: Property, value: unknown, { settable, assignments, faults }: Reading) {
  const { kind, required, name } = property
  if (!settable.has(property)) {
    faults.push(forbidden(name, `set ${name}`))
    return
  }
  try {
    assignments.set(property, value === null && (kind.nullable || required) ? null : kind.parseJson(value))
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    faults.push(valueFault(name, error.message))
  }
}

/** Makes the fault that the caller lacks a right. `action`: continues "You have no right to". */
function forbidden(target: string, action: string): Fault {
  return { code: 'Forbidden', target, message: `You have no right to ${action}.` }
}

const memberFinder = memoize((members: Members) => {
  // Names as in requests (`Name`) and as in responses (`name`).
  const spellings = (member: Member) => [lastName(member), keyOf(member)]
  return findByName(members.flatMap((member) => spellings(member).map((name) => [name, member] as const)))
})

/**
 * Makes the fault of two values in the wrong order. A value that the right has set may belong to a hidden property, which the
 * message does not name.
 */
function ruleFault({ properties }: Entity, later: Property, earlier: Property): Fault {
  if (!properties.includes(later)) return valueFault(earlier.name, 'must not be after what your right sets')
  return valueFault(later.name, `must not be before ${properties.includes(earlier) ? earlier.name : 'what your right sets'}`)
}

/** Returns the name that a part has inside its object: `Days` of `Period.Days`. */
function lastName(member: Member): string {
  return member.name.slice(member.name.lastIndexOf('.') + 1)
}

function valueFault(target: string, reason: string): Fault {
  return { code: 'InvalidValue', target, message: `${target} ${reason}.` }
}
