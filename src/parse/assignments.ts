import { FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import { JsonNumber, Mismatch } from '../model/kinds.ts'
import { suggest } from '../model/nearest.ts'
import type { Assignments } from '../model/query.ts'
import { shown } from '../model/shown.ts'
import { Names } from './names.ts'

type Member = Property | Group
type Members = readonly Member[]
type JsonObject = Record<string, unknown>

/** Every writable property, the ones not given at their type's default. Spec 4.1, rules 1 and 2. @throws ApiError */
export function parseComplete(entity: Entity, body: JsonObject): Assignments {
  const defaults = entity.properties.filter((property) => property.writable)
  return parseAssignments(entity, body, new Map(defaults.map((property) => [property, property.kind.default])))
}

/** Only the properties given; an object is merged part by part. Spec 4.1, rule 3. @throws ApiError */
export function parsePartial(entity: Entity, body: JsonObject): Assignments {
  return parseAssignments(entity, body, new Map())
}

/** @throws ApiError that lists every fault of the body */
function parseAssignments(entity: Entity, body: JsonObject, assignments: Map<Property, string | null>): Assignments {
  const faults: Fault[] = []
  parseObject(entity.name, '', entity.members, body, assignments, faults)
  for (const { later, earlier } of entity.rules) {
    const [laterText, earlierText] = [assignments.get(later), assignments.get(earlier)]
    if (laterText && earlierText && laterText < earlierText)
      faults.push({
        code: 'InvalidValue',
        target: later.name,
        message: `${later.name} must not be before ${earlier.name}.`,
      })
  }
  for (const property of entity.required)
    if (isLacking(property, assignments) && !faults.some(({ target }) => target === property.name))
      faults.push({
        code: 'InvalidValue',
        target: property.name,
        message: `${property.name} is required: it must be ${property.kind.allowed}.`,
      })
  if (faults.length > 0) throw faultsError(faults as [Fault, ...Fault[]])
  return assignments
}

/** Returns whether a required property would be without a value; '' is none, as it is in filters. */
function isLacking(property: Property, assignments: Assignments): boolean {
  const value = assignments.get(property)
  return value === null || (value === '' && property.kind.emptyIsNoValue)
}

function parseObject(
  owner: string,
  prefix: string,
  members: Members,
  object: JsonObject,
  assignments: Map<Property, string | null>,
  faults: Fault[],
) {
  const names = namesOf(members)
  const seen = new Set<Member>()
  for (const [key, value] of Object.entries(object)) {
    if (faults.length >= FAULTS_MAX) return
    const member = names.find(key)
    if (!member) faults.push(unknownProperty(owner, prefix, members, key))
    else if (seen.has(member)) faults.push(duplicate(member))
    else if (isGroup(member)) parseGroup(member, value, assignments, faults)
    else if (member.writable) parseProperty(member, value, assignments, faults)
    if (member) seen.add(member)
  }
}

function parseGroup(group: Group, value: unknown, assignments: Map<Property, string | null>, faults: Fault[]) {
  if (value === null) for (const part of group.properties) assignments.set(part, part.kind.default)
  else if (typeof value === 'object' && !Array.isArray(value) && !(value instanceof JsonNumber))
    parseObject(group.name, `${group.name}.`, group.properties, value as JsonObject, assignments, faults)
  else faults.push({ code: 'InvalidValue', target: group.name, message: `${group.name} must be an object, or null.` })
}

function parseProperty(property: Property, value: unknown, assignments: Map<Property, string | null>, faults: Fault[]) {
  try {
    assignments.set(
      property,
      value === null && (property.kind.nullable || property.required) ? null : property.kind.parseJson(value),
    )
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    faults.push({ code: 'InvalidValue', target: property.name, message: `${property.name} ${error.message}.` })
  }
}

const namesOfMembers = new WeakMap<Members, Names<Member>>()

function namesOf(members: Members): Names<Member> {
  let names = namesOfMembers.get(members)
  if (!names) namesOfMembers.set(members, (names = new Names(members.flatMap(spellings))))
  return names
}

/** As documentation writes it, and as answers do. */
function spellings(member: Member): [string, Member][] {
  return [
    [lastName(member), member],
    [isGroup(member) ? member.key : (member.path.at(-1) as string), member],
  ]
}

/** `Days` of `Period.Days`: inside its object a part has no dot. */
function lastName(member: Member): string {
  return member.name.slice(member.name.lastIndexOf('.') + 1)
}

function unknownProperty(owner: string, prefix: string, members: Members, key: string): Fault {
  const hint = suggest(key, members.map(lastName))
  const name = shown(key)
  return { code: 'UnknownProperty', target: prefix + name, message: `${owner} has no property "${name}".${hint}` }
}

function duplicate(member: Member): Fault {
  const message = `${member.name} is given twice, in names that differ by case.`
  return { code: 'DuplicateProperty', target: member.name, message }
}
