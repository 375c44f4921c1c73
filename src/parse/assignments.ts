// Values of a row from a JSON body: checked against the entity, with every fault reported.
import { FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import { type Entity, type Group, isGroup, keyOf, type Property } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { Mismatch } from '../model/kinds.ts'
import { memoize } from '../model/memoize.ts'
import { suggest } from '../model/nearest.ts'
import type { Assignments } from '../model/query.ts'
import { isObject, type JsonObject } from './body.ts'
import { findByName } from './names.ts'
import { suggestProperty } from './nearestProperty.ts'

type Member = Property | Group
type Members = readonly Member[]

/**
 * Parses a complete row: every writable property, the missing ones with the default of their kind. Spec 4.1, rules 1 and 2.
 * @throws ApiError
 */
export function parseComplete(entity: Entity, body: JsonObject): Assignments {
  const defaults = entity.properties.filter((property) => property.writable)
  return parseAssignments(entity, body, new Map(defaults.map((property) => [property, property.kind.default])))
}

/** Parses the properties that the body has; an object is merged part by part. Spec 4.1, rule 3. @throws ApiError */
export function parsePartial(entity: Entity, body: JsonObject): Assignments {
  return parseAssignments(entity, body, new Map())
}

/** Parses the values of a body into `assignments`. @throws ApiError that lists every fault of the body */
function parseAssignments(entity: Entity, body: JsonObject, assignments: Map<Property, string | null>): Assignments {
  const faults: Fault[] = []
  parseObject(entity.name, '', entity.members, body, { assignments, faults })
  // Required properties are not checked: they may be in the rest of the body, which was not parsed.
  if (faults.length >= FAULTS_MAX) throw faultsError(faults)
  for (const { later, earlier } of entity.rules) {
    const laterText = assignments.get(later)
    const earlierText = assignments.get(earlier)
    if (laterText && earlierText && laterText < earlierText)
      faults.push(valueFault(later.name, `must not be before ${earlier.name}`))
  }
  for (const property of entity.required)
    if (isLacking(property, assignments.get(property)) && !faults.some(({ target }) => target === property.name))
      faults.push(valueFault(property.name, `is required: it must be ${property.kind.allowed}`))
  if (faults.length > 0) throw faultsError(faults)
  return assignments
}

/** Returns whether this is no value. For some kinds '' is no value, as it is in filters. */
function isLacking({ kind }: Property, value: string | null | undefined): boolean {
  return value === null || (value === '' && kind.emptyIsNoValue)
}

interface Reading {
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

/** Suggests the name that was probably meant; for a part outside of its object ` Did you mean {"Period":{"Days":...}}?`. */
function hintFor(key: string, members: Members): string {
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

function parseGroup(group: Group, value: unknown, into: Reading) {
  if (value === null)
    for (const part of group.properties.filter(({ writable }) => writable)) into.assignments.set(part, part.kind.default)
  else if (isObject(value)) parseObject(group.name, `${group.name}.`, group.properties, value, into)
  else into.faults.push(valueFault(group.name, 'must be an object, or null'))
}

function parseProperty(property: Property, value: unknown, { assignments, faults }: Reading) {
  const { kind, required } = property
  try {
    assignments.set(property, value === null && (kind.nullable || required) ? null : kind.parseJson(value))
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    faults.push(valueFault(property.name, error.message))
  }
}

const memberFinder = memoize((members: Members) => {
  // Names of requests (`Name`) and of responses (`name`).
  const spellings = (member: Member) => [lastName(member), keyOf(member)]
  return findByName(members.flatMap((member) => spellings(member).map((name) => [name, member] as const)))
})

/** Returns the name that a part has inside its object: `Days` of `Period.Days`. */
function lastName(member: Member): string {
  return member.name.slice(member.name.lastIndexOf('.') + 1)
}

function valueFault(target: string, reason: string): Fault {
  return { code: 'InvalidValue', target, message: `${target} ${reason}.` }
}
