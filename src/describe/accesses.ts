// Parts of each entity that the OpenAPI document of a key shows.
import type { Access } from '../model/access.ts'
import type { Collection } from '../model/namedView.ts'
import { type View, viewOf } from '../model/view.ts'

/** Returns the entity as answers show it to the key: the key's view of the entity, or only the id. */
export function shownView({ whole, read }: Access): View {
  return read ?? viewOf(whole, new Set(), [], '')
}

/** Returns the collection to which the access belongs: an entity or a named view. */
export function collectionOf({ whole, read }: Access): Collection {
  return read?.collection ?? whole
}

/** Returns the names of all properties that the key neither reads nor sets. */
export function hiddenNames(accesses: readonly Access[]): string[] {
  const seen = accesses.flatMap(({ read, create, update }) =>
    [read, create?.body, update?.body].flatMap((one) => one?.properties ?? []),
  )
  const names = new Set(seen.map(({ name }) => name))
  return accesses.flatMap(({ whole }) => whole.properties.map(({ name }) => name).filter((name) => !names.has(name)))
}

/**
 * Returns whether the change feed has events of the entity for the key. A view with filters has no events: rows could enter and
 * leave the view without an event. D80, D105
 */
export function hasEvents({ read }: Pick<Access, 'read'>): boolean {
  return read !== null && read.filters.length === 0 && read.collection === read.whole
}
