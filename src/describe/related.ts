// Related properties in the OpenAPI document: paths through one reference are listed, longer ones are described in words. D94
import { type Property, relatedProperty } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import type { View } from '../model/view.ts'
import { RELATED_FILTERS_MAX } from '../parse/filter.ts'

/**
 * Maximum number of related properties of an entity that the document lists. Each of them adds several parameters to the
 * document.
 */
const LISTED_MAX = 200

/**
 * Returns the related properties that the document lists. Each is one reference away. For each reference, either all properties
 * are listed or none.
 */
export const listedPaths = memoize((view: View): readonly Property[] => {
  const listed: Property[] = []
  for (const reference of view.properties) {
    const properties = pathsThrough(view, reference, (target) => target.properties)
    if (listed.length + properties.length <= LISTED_MAX) listed.push(...properties)
  }
  return listed
})

/**
 * Returns the related properties that `choose` selects in the target of a reference; an empty list if the key may not read the
 * target.
 */
function pathsThrough(view: View, reference: Property, choose: (target: View) => readonly Property[]): Property[] {
  const target = view.related(reference)
  return target === null ? [] : choose(target).map((property) => relatedProperty(reference, target, property))
}

/** Returns a property's name for a description: `department` of the Employee that `employeeId` names. */
export function inWords({ path, related }: Property): string {
  if (related === null) return `\`${path.join('.')}\``
  const { reference, view, property } = related
  return `\`${property.path.join('.')}\` of the ${view.name} that \`${reference.path.join('.')}\` names`
}

/** Returns a description of an entity's paths, with examples; '' if the entity has no reference to rows that the key may read. */
export function describePaths(view: View): string {
  const examplesIn = (from: View) => from.properties.flatMap((reference) => pathsThrough(from, reference, exampleIn))
  const [near] = examplesIn(view)
  if (!near) return ''
  const [far] = view.properties.flatMap((reference) => pathsThrough(view, reference, examplesIn))
  const unlisted = view.properties.filter(
    (reference) => view.related(reference) !== null && !listedPaths(view).some(({ related }) => related?.reference === reference),
  )
  const others = [...(far ? [`two references, as \`${far.name}\``] : []), ...unlisted.map(({ name }) => `\`${name}\``)]
  return [
    `\`${near.name}\` is a path, to ${inWords(near)}; a row without the reference has no value there.`,
    `Use paths in filters, up to ${RELATED_FILTERS_MAX} of a request, in \`fields\`, \`groupBy\` and aggregates, but not in \`sort\`.`,
    ...(others.length > 0
      ? [`Paths through ${others.join(', or through ')} are not listed: they have the operators of the property in its own list.`]
      : []),
  ].join(' ')
}

/** Returns the first property of an entity that is a text; if there is none, the id. */
function exampleIn({ properties, id }: View): Property[] {
  return [properties.find((property) => property !== id && property.kind.isFreeText) ?? id]
}
