// Paths: properties of other rows, to which references lead, as `EmployeeId.Department` and `EmployeeId.CompanyId.Name`. D91
import { isGroup, type Property, relatedProperty } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { memoize } from '../model/memoize.ts'
import type { View } from '../model/view.ts'
import { findMember } from './names.ts'
import { suggestOrList } from './nearestProperty.ts'

/** Maximum references through which a path leads. */
export const REFERENCES_MAX = 2

/** A reference, the view of the rows that it names, and what stands behind it in a path. */
interface Step {
  readonly reference: Property
  /** Null: the key may not read them. */
  readonly view: View | null
  readonly rest: string
}

/** Related properties of a view that were asked for, by their names: the same object for the same path. */
const relatedOf = memoize((_: View) => new Map<string, Property>())

/** Finds the property that a path names; undefined if it leads nowhere, or the name is no path. */
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

/** The reference along which a property is copied, if the view has it, behind the same references; null: it is no copy. */
export function referenceOfCopy(view: View, { column, related }: Property): Property | null {
  if (related) {
    const found = referenceOfCopy(related.view, related.property)
    return found && (findRelated(view, `${related.reference.name}.${found.name}`) ?? null)
  }
  return view.properties.find(({ reference }) => reference?.copy?.column === column) ?? null
}

/** Says why a path leads nowhere, and what was probably meant: the end of a message. Null: the name is no path. */
export function faultOfPath(view: View, name: string, references = REFERENCES_MAX): string | null {
  const step = firstStep(view, name)
  if (step === null || step.view === null) return null
  const { reference, view: target, rest } = step
  if (references === 0) return ` A path leads through up to ${REFERENCES_MAX} references.`
  const further = faultOfPath(target, rest, references - 1)
  if (further !== null) return further
  const member = findMember(target, rest)
  if (member && isGroup(member)) {
    const parts = member.properties.map((part) => `${reference.name}.${part.name}`)
    return ` ${member.name} of ${target.plural} is an object: name one of its parts, as ${parts.join(', ')}.`
  }
  return ` ${target.plural} have no property "${excerpt(rest)}".${suggestOrList(rest, target.properties)}`
}

/** The reference with which a path begins: the longest name of the view's own that is followed by a dot. */
function firstStep(view: View, name: string): Step | null {
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const member = findMember(view, name.slice(0, dot))
    if (member === undefined) continue
    if (isGroup(member) || member.reference === null) return null
    return { reference: member, view: view.related(member), rest: name.slice(dot + 1) }
  }
  return null
}
