import type { ChosenGroup } from '../model/choice.ts'
import { type Group, isGroup, type Property } from '../model/entity.ts'

/** The name of a member in JSON. */
export function keyOf(member: Property | Group): string {
  return isGroup(member) ? member.key : (member.path.at(-1) as string)
}

/** All parts of an object: where none of them has a value, the object is null. */
export function wholeOf(group: Group): readonly Property[] {
  const { whole = group.properties }: Partial<ChosenGroup> = group
  return whole
}
