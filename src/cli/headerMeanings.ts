// Proposes meanings for unknown headers, such as headers in German. Nothing is imported until an option accepts the proposal.
import type { Entity, Property } from '../model/entity.ts'
import { wholeView } from '../model/view.ts'
import { referenceOfCopy } from '../parse/paths.ts'
import { findColumn, type NamedColumn } from '../spreadsheets/columns.ts'
import { meaningsOf } from '../spreadsheets/headerWords.ts'

/** Meaning that a header can have for an entity. */
interface Meaning {
  /** Property that the header names. */
  readonly property: Property
  /** Property that the cells of the column set: `property`, or the reference along which `property` is copied. */
  readonly sets: Property
  /** Property of the referred row whose values are in the cells; null if the cells are values of `sets` itself. */
  readonly by: Property | null
}

/** A column of a file with its probable meaning. */
export interface Proposal extends Meaning {
  readonly index: number
}

/**
 * Returns a probable meaning for each unknown column that has one. No two columns set the same property. `unknown`: indexes of
 * the columns. `named`: properties that have a column already.
 */
export function proposeMeanings(
  entity: Entity,
  headers: readonly (string | null)[],
  unknown: readonly number[],
  named: readonly Property[],
): Proposal[] {
  const view = wholeView(entity)
  const taken = new Set(named.flatMap((property) => [property, referenceOfCopy(view, property)]))
  const proposals: Proposal[] = []
  for (const index of unknown) {
    const meanings = meaningsOf(headers[index] ?? '').flatMap((name) => meaningIn(entity, name) ?? [])
    const meaning = meanings.find(({ sets }) => !taken.has(sets))
    if (meaning === undefined) continue
    taken.add(meaning.sets)
    proposals.push({ index, ...meaning })
  }
  return proposals
}

/** Returns each property with its names: the name in the API, `Period.Days`, and the words of `/explore`, `period days`. */
export function knownColumns(entity: Entity): NamedColumn<Property>[] {
  return entity.properties.map((property) => ({ names: [property.name, property.path.join(' ')], of: property }))
}

/** Returns the property of the referred row that is copied along a reference; undefined if the reference copies no property. */
export function copiedSource({ reference }: Property): Property | undefined {
  return reference?.target?.properties.find(({ column }) => column === reference.copy?.source)
}

function meaningIn(entity: Entity, name: string): Meaning | null {
  const property = findColumn(name, knownColumns(entity))
  if (property === undefined) return rowNamedBy(entity, name)
  if (property.writable) return { property, sets: property, by: null }
  const reference = referenceOfCopy(wholeView(entity), property)
  const by = reference?.writable ? copiedSource(reference) : undefined
  return reference && by ? { property, sets: reference, by } : null
}

/** Matches names of properties that rarely have the same value in several rows. */
const IDENTIFYING = /(?:number|code|mail)$|^name$/i

/**
 * Returns the only reference to rows that have a property of this name, such as an absence's employee for `EmployeeNumber`. Null
 * if there is no such reference, or more than one.
 */
function rowNamedBy(entity: Entity, name: string): Meaning | null {
  if (!IDENTIFYING.test(name)) return null
  const meanings = entity.properties.flatMap((property) => {
    const target = property.writable ? property.reference?.target : null
    const by = target?.properties.find((one) => one.name === name && one.writable && one.kind.namesRows)
    return by ? [{ property, sets: property, by }] : []
  })
  return meanings.length === 1 ? (meanings[0] as Meaning) : null
}
