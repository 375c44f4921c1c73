// Names in requests: finds properties by names in upper or lower case, splits sort definitions, and lists names for messages.
import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'

/**
 * Returns a function that finds values by their names, in upper or lower case. Names that are spelled as in `entries` are found
 * fastest, so pass frequent spellings, too.
 */
export function findByName<Named>(entries: readonly (readonly [name: string, named: Named])[]) {
  const found = new Map(entries.map(([name, named]) => [name.toLowerCase(), named]))
  for (const [name] of entries) found.set(name, found.get(name.toLowerCase()) as Named)
  return (name: string): Named | undefined => found.get(name) ?? found.get(name.toLowerCase())
}

const memberFinder = memoize((members: Entity['members']) => {
  const parts = members.flatMap((member) => (isGroup(member) ? member.properties : []))
  return findByName<Property | Group>([...members, ...parts].map((member) => [member.name, member]))
})

/** Finds the property or the object that a parameter names: `Period.Days`, `period`. */
export function findMember({ members }: Entity, name: string): Property | Group | undefined {
  return memberFinder(members)(name)
}

/** Splits a `sort` parameter into names and directions. Spec 4.2, Sorting */
export function sortDefinitions(text: string): { name: string; descending: boolean }[] {
  if (text === '') return []
  // A `+` that was not percent-encoded has become a space.
  return text.split(',').map((one) => ({ name: one.replace(/^[+ -]/, ''), descending: one.startsWith('-') }))
}

/** Lists names for a message: `=, != and []`, or with `or` before the last name. */
export function listed(names: readonly string[], word: 'and' | 'or'): string {
  return names.length === 1 ? (names[0] as string) : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`
}

/** Reduces a name to lower-case letters and digits: `per_page`, `$perPage` and `per-page` are one name. */
export function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
