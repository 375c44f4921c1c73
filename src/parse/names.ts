// Names of properties in requests: found in any case, in sorts behind signs; lists of names for messages.
import type { Entity, Group, Property } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'

/** Finds things by name in any case; as spelled in `entries` at once, so give all frequent spellings of a thing. */
export function findByName<Named>(entries: readonly (readonly [name: string, named: Named])[]) {
  const found = new Map(entries.map(([name, named]) => [name.toLowerCase(), named]))
  for (const [name] of entries) found.set(name, found.get(name.toLowerCase()) as Named)
  return (name: string): Named | undefined => found.get(name) ?? found.get(name.toLowerCase())
}

const memberFinder = memoize(({ members, properties }: Entity) =>
  findByName<Property | Group>([...members, ...properties].map((member) => [member.name, member])),
)

/** The property or the object of a parameter's name: `Period.Days`, `period`. */
export function findMember(entity: Entity, name: string): Property | Group | undefined {
  return memberFinder(entity)(name)
}

/** The definitions of one `sort` parameter: names of properties behind signs. Spec 4.2, Sorting */
export function sortDefinitions(text: string): { name: string; descending: boolean }[] {
  if (text === '') return []
  // A + that was not percent-encoded has become a space.
  return text.split(',').map((one) => ({ name: one.replace(/^[+ -]/, ''), descending: one.startsWith('-') }))
}

/** `=, != and []`, or with another word in front of the last. */
export function listed(names: readonly string[], word: 'and' | 'or'): string {
  return names.length === 1 ? (names[0] as string) : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`
}

/** `per_page`, `$perPage` and `per-page` are one name. */
export function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
