// What the OpenAPI document of a key shows of each entity.
import type { Access } from '../model/access.ts'
import { type View, viewOf } from '../model/view.ts'

/** Returns the entity as answers to the key show it: the view that it reads, or the id alone. */
export function shownView({ whole, read }: Access): View {
  return read ?? viewOf(whole, new Set(), [], '')
}

/** True if the change feed has events of the entity for the key. A row may enter and leave a view with filters unseen. D80 */
export function hasEvents({ read }: Access): boolean {
  return read !== null && read.filters.length === 0
}
