// Views: entities as one key may read them, with fewer properties and fewer rows.
import { type Entity, type Group, isGroup, type Property } from './entity.ts'
import { memoize } from './memoize.ts'
import type { Filter } from './query.ts'

/**
 * An entity as a key may read it. Parsers, writers and hints get the view in place of the entity, so they never learn of a hidden
 * property. Its properties are the entity's own objects; statements and columns are always those of `whole`.
 */
export interface View extends Entity {
  /** The declared entity. Rows of statements and of copies have its columns, in its order. */
  readonly whole: Entity
  /** Filters that the parsers append to those of each request; they may name hidden properties. */
  readonly filters: readonly Filter[]
  /** Text of the right, the same in every process: caches and cursors are for one right. '' for a whole entity. */
  readonly text: string
}

/** Returns the view that shows every row and property. */
export const wholeView = memoize((entity: Entity): View => Object.freeze({ ...entity, whole: entity, filters: [], text: '' }))

/** Makes a view of the rows that match `filters`, with these properties; the id is always among them. */
export function viewOf(whole: Entity, visible: ReadonlySet<Property>, filters: readonly Filter[], text: string): View {
  return Object.freeze({ ...withProperties(whole, visible), whole, filters, text })
}

/** Returns the entity without its other properties. An object without visible parts goes; the parts of others are fewer. */
export function withProperties(entity: Entity, visible: ReadonlySet<Property>): Entity {
  const isVisible = (property: Property) => property === entity.id || visible.has(property)
  const members = entity.members.flatMap((member): (Property | Group)[] => {
    if (!isGroup(member)) return isVisible(member) ? [member] : []
    const properties = member.properties.filter(isVisible)
    // Whether an object is null must not tell of hidden parts, so `whole` has the visible ones only.
    return properties.length === 0 ? [] : [{ ...member, properties, whole: properties }]
  })
  return {
    ...entity,
    members,
    properties: entity.properties.filter(isVisible),
    rules: entity.rules.filter(({ later, earlier }) => isVisible(later) && isVisible(earlier)),
    required: entity.required.filter(isVisible),
  }
}
