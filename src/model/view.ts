// Views: entities as one key may read them, with fewer properties and fewer rows.
import { type Entity, type Filter, type Group, isGroup, type Property, type View } from './entity.ts'
import { LruCache } from './lruCache.ts'
import { memoize } from './memoize.ts'
import { baseOf, type Collection, filtersOf } from './namedView.ts'

export type { View } from './entity.ts'

/** Returns the view that shows every row and property of an entity. */
export const wholeView = memoize(
  (entity: Entity): View =>
    Object.freeze({
      ...entity,
      whole: entity,
      collection: entity,
      filters: [],
      text: '',
      signedText: '',
      related: wholeRelated,
      relatedText: '',
      relatedSignedText: '',
    }),
)

function wholeRelated({ reference }: Property): View | null {
  return reference?.target ? wholeView(reference.target) : null
}

/** The views to which the paths of a view lead, and the text of the rights to read them. */
export type RelatedViews = Pick<View, 'related' | 'relatedText' | 'relatedSignedText'>

/** Related views of a view without paths. */
export const NO_PATHS: RelatedViews = { related: () => null, relatedText: '-', relatedSignedText: '-' }

/** Makes a view of a collection: it shows the rows that match `filters`, and the visible properties and the id. */
export function viewOf(
  collection: Collection,
  visible: ReadonlySet<Property>,
  filters: readonly Filter[],
  text: string,
  paths: RelatedViews = NO_PATHS,
  signedText = text,
): View {
  const shown = withProperties(collection, visible)
  const all = [...filtersOf(collection), ...filters]
  return Object.freeze({ ...shown, whole: baseOf(collection), collection, filters: all, text, signedText, ...paths })
}

/** Maximum number of different sets of properties that are kept for an entity. */
const NARROWED_MAX = 1_000

const narrowedOf = memoize((_: Entity) => new LruCache<Entity>(2 * NARROWED_MAX, () => 1))

/**
 * Returns the entity with only the visible properties. Objects keep their visible parts; an object without a visible part is
 * removed. Equal sets of properties share one array of members, so that parsers and writers are cached once for this array, not
 * once for each of perhaps thousands of views.
 */
export function withProperties(entity: Entity, visible: ReadonlySet<Property>): Entity {
  const isVisible = (property: Property) => property === entity.id || visible.has(property)
  const properties = entity.properties.filter(isVisible)
  const kept = narrowedOf(entity)
  const key = properties.map(({ column }) => column).join()
  const known = kept.get(key)
  if (known) return known
  const made = narrow(entity, properties, isVisible)
  kept.set(key, made)
  return made
}

function narrow(entity: Entity, shown: readonly Property[], isVisible: (property: Property) => boolean): Entity {
  const members = entity.members.flatMap((member): (Property | Group)[] => {
    if (!isGroup(member)) return isVisible(member) ? [member] : []
    const properties = member.properties.filter(isVisible)
    // An object that is null must not reveal anything about hidden parts, so `allProperties` has only the visible ones.
    return properties.length === 0 ? [] : [{ ...member, properties, allProperties: properties }]
  })
  const { name, plural, table, id } = entity
  return {
    name,
    plural,
    table,
    id,
    members,
    properties: shown,
    rules: entity.rules.filter(({ later, earlier }) => isVisible(later) && isVisible(earlier)),
    required: entity.required.filter(isVisible),
  }
}
