import { type Entity, type Group, isGroup, type Property } from './entity.ts'

/** An object of which some parts are chosen. */
export interface ChosenGroup extends Group {
  /** All its parts: the object is null where none of these has a value. */
  readonly whole: readonly Property[]
}

/** The properties of each row that a request chooses, in the entity's order. */
export interface Choice {
  readonly members: readonly (Property | ChosenGroup)[]
  /** The chosen properties, with the parts of objects one by one. */
  readonly properties: readonly Property[]
}

/** A choice of these properties, however they are ordered. */
export function choose(entity: Entity, chosen: ReadonlySet<Property>): Choice {
  const members = entity.members.flatMap((member): (Property | ChosenGroup)[] => {
    if (!isGroup(member)) return chosen.has(member) ? [member] : []
    const properties = member.properties.filter((part) => chosen.has(part))
    return properties.length === 0 ? [] : [{ ...member, properties, whole: member.properties }]
  })
  return { members, properties: entity.properties.filter((property) => chosen.has(property)) }
}
