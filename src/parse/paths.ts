// Paths: properties of rows to which references lead, such as `EmployeeId.Department` and `EmployeeId.CompanyId.Name`. D91
import { isGroup, type Property, relatedProperty } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { memoize } from '../model/memoize.ts'
import { haveOf } from '../model/names.ts'
import { nearestOf } from '../model/nearest.ts'
import type { View } from '../model/view.ts'
import { findMember, listed, plain } from './names.ts'
import { type MeantPath, suggestOrList } from './nearestProperty.ts'

/** Maximum number of references through which a path leads. */
const REFERENCES_MAX = 2

/** The first step of a path: a reference, the view of the rows to which it leads, and the rest of the path. */
interface Step {
  readonly reference: Property
  /** View of the rows to which the reference leads; null: the caller may not read these rows. */
  readonly view: View | null
  readonly rest: string
}

/** Related properties that requests have named, by view and path, so that the same path is always the same object. */
const relatedOf = memoize((_: View) => new Map<string, Property>())

/** Finds the property that a path names; undefined if the path leads nowhere, or the name is no path. */
export function findRelated(view: View, name: string, references = REFERENCES_MAX): Property | undefined {
  const step = firstStep(view, name)
  if (step === null || step.view === null || references === 0) return undefined
  const member = findMember(step.view, step.rest)
  const property = member === undefined ? findRelated(step.view, step.rest, references - 1) : member
  if (property === undefined || isGroup(property)) return undefined
  const { reference, view: target } = step
  const path = `${reference.name}.${property.name}`
  return relatedOf(view).getOrInsertComputed(path, () => relatedProperty(reference, target, property))
}

/**
 * Returns the reference along which a property is copied; for a related property, the path to this reference in the referred row.
 * Returns null if the property is no copy, or if the view does not have the reference.
 */
export function referenceOfCopy(view: View, { column, related }: Property): Property | null {
  if (related) {
    const found = referenceOfCopy(related.view, related.property)
    return found && (findRelated(view, `${related.reference.name}.${found.name}`) ?? null)
  }
  return view.properties.find(({ reference }) => reference?.copy?.column === column) ?? null
}

/** Returns the end of a message: why a path leads nowhere, and what was probably meant. Returns null if the name is no path. */
export function faultOfPath(view: View, name: string, references = REFERENCES_MAX): string | null {
  const step = firstStep(view, name)
  if (step === null) return null
  const { reference, view: target, rest } = step
  if (target === null)
    return ` You may not read ${reference.reference?.target?.plural ?? reference.reference?.entity}, to which ${reference.name} leads.`
  if (references === 0) return ` A path leads through up to ${REFERENCES_MAX} references.`
  if (rest === '') return ` Behind ${reference.name}. stands a property of ${target.plural}: ${exampleOf(target)}, for example.`
  const further = faultOfPath(target, rest, references - 1)
  if (further !== null) return further
  const member = findMember(target, rest)
  if (member && isGroup(member)) {
    const parts = member.properties.map((part) => `${reference.name}.${part.name}`)
    return ` ${member.name} of ${target.plural} is an object: name one of its parts, as ${listed(parts, 'or')}.`
  }
  return ` ${target.plural} ${haveOf(target)} no property "${excerpt(rest)}".${suggestOrList(rest, target.properties, meantPath(target, rest, references - 1))}`
}

/** Returns whether a name begins with a reference and a dot, even if the path leads nowhere. */
export function isPath(view: View, name: string): boolean {
  return firstStep(view, name) !== null
}

/**
 * Returns the names that `[under]` accepts: references of the view to its own entity, and paths to references of referred
 * entities to themselves.
 */
export function chainsOf(view: View): string[] {
  return view.properties.flatMap((property) => {
    if (property.reference?.isToItself) return [property.name]
    const target = property.reference === null ? null : view.related(property)
    return target === null ? [] : selfReferencesOf(target).map((name) => `${property.name}.${name}`)
  })
}

function selfReferencesOf({ properties }: View): string[] {
  return properties.flatMap(({ name, reference }) => (reference?.isToItself ? [name] : []))
}

function exampleOf({ properties }: View): string {
  return properties.find((property) => property.name !== 'Id' && property.reference === null)?.name ?? 'Id'
}

/** Maximum length of a name that is interpreted. */
const READ_LENGTH_MAX = 100

/**
 * Returns the path that a name probably means: `EmployeeId.Department` for `employee_id__department`, `Employee.Department`,
 * `EmployeId.Department` and `Department`. Returns null if no path is recognized.
 */
export function meantPath(view: View, name: string, references = REFERENCES_MAX): MeantPath | null {
  if (name.length > READ_LENGTH_MAX || references === 0) return null
  const text = plain(name)
  const spelled = pathSpelled(view, text, references) ?? misspelledPath(view, name, references)
  // The name of a property of the view itself is no path.
  if (spelled !== null) return findMember(view, spelled) === undefined ? { name: spelled, namesReference: true } : null
  const implied = view.properties.map((reference) => pathThrough(view, reference, text, 0)).find((path) => path !== null)
  return implied ? { name: implied, namesReference: false } : null
}

/** Finds the property or the path that a name spells. `text`: the name in lower-case letters and digits. */
function pathSpelled(view: View, text: string, references: number): string | null {
  const own = view.properties.find((property) => plain(property.name) === text)
  if (own) return own.name
  for (const reference of references === 0 ? [] : view.properties) {
    const before = spellingsOf(view, reference).find((spelling) => text.startsWith(spelling))
    const path = before === undefined ? null : pathThrough(view, reference, text.slice(before.length), references - 1)
    if (path !== null) return path
  }
  return null
}

/** Finds the path that begins with a reference and continues with the names that a text spells; null if it leads nowhere. */
function pathThrough(view: View, reference: Property, text: string, references: number): string | null {
  const target = reference.reference === null ? null : view.related(reference)
  const path = target === null ? null : pathSpelled(target, text, references)
  return path === null ? null : `${reference.name}.${path}`
}

/** Names that clients may use for a reference, the longest first: `employeeid`, `employees`, `employee`. */
function spellingsOf(view: View, { name, reference }: Property): string[] {
  if (reference === null) return []
  const copy = view.properties.find(({ column }) => column === reference.copy?.column)
  const names = [name, name.replace(/Id$/, ''), copy?.name ?? '', reference.entity, reference.target?.plural ?? '']
  return [...new Set(names.map(plain))].filter((text) => text !== '').sort((one, other) => other.length - one.length)
}

/** Finds the path that begins with a misspelled reference. */
function misspelledPath(view: View, name: string, references: number): string | null {
  const dot = name.indexOf('.')
  const names = view.properties.flatMap((one) => (one.reference && view.related(one) ? [one.name] : []))
  const nearest = dot <= 0 ? null : nearestOf(name.slice(0, dot), names)
  const reference = view.properties.find((one) => one.name === nearest)
  return reference ? pathThrough(view, reference, plain(name.slice(dot + 1)), references - 1) : null
}

/**
 * Splits a path after its first reference: the longest name of a property of the view that is followed by a dot. Returns null if
 * the name does not begin with a reference.
 */
function firstStep(view: View, name: string): Step | null {
  const first = name.indexOf('.')
  // The name of a property of the view has at most one dot.
  for (const dot of [name.indexOf('.', first + 1), first]) {
    const member = dot > 0 ? findMember(view, name.slice(0, dot)) : undefined
    if (member === undefined) continue
    if (isGroup(member) || member.reference === null) return null
    return { reference: member, view: view.related(member), rest: name.slice(dot + 1) }
  }
  return null
}
