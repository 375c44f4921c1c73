// Rights of hooks: rights to read, which say what a hook shows of each event.
import type { Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { type View, wholeView } from '../model/view.ts'
import { viewOfRight } from '../rights/accesses.ts'
import { parseRights } from '../rights/checks.ts'
import { RightError } from '../rights/grammar.ts'
import { entitiesOf } from './events.ts'

/** Events and rights of a hook, as they are stored. */
export interface Subscription {
  readonly events: readonly string[]
  /** Rights to read, one per line; null if the hook shows all properties. */
  readonly rights: string | null
}

/** Parses the rights of a hook. @throws RightError that names the faulty right */
export function parseHookRights(texts: readonly string[], entities: readonly Entity[]): readonly Right[] {
  const rights = parseRights(texts, entities)
  for (const { verb, filters, text } of rights) {
    if (verb !== 'read') throw new RightError(`"${text}": a hook reads, and cannot ${verb}: give it rights to read alone.`)
    if (filters.length > 0)
      throw new RightError(
        `"${text}": the right of a hook has no filters, because no event says that a row no longer matches them.`,
      )
  }
  return rights
}

/** Checks that each entity of the events has a right, and that each right is to an entity of the events. @throws RangeError */
export function requireSameEntities(events: readonly string[], rights: readonly Right[], entities: readonly Entity[]): void {
  const isEvery = events.includes('*')
  const named = entitiesOf(events, entities)
  const withoutRight = named.find((entity) => !rights.some((right) => right.collection === entity))
  if (withoutRight && !isEvery)
    throw new RangeError(`A hook with rights needs one for each entity: add --right 'read ${withoutRight.plural}'.`)
  const withoutEvent = rights.find(({ collection }) => !named.includes(collection))
  if (withoutEvent) throw new RangeError(`It names no event of ${withoutEvent.collection.plural}, to which there is a right.`)
}

/**
 * Returns the view of each entity whose events a hook delivers. @throws RightError if the hook's rights do not fit the entities
 */
export function viewsOf({ events, rights }: Subscription, entities: readonly Entity[]): readonly View[] {
  const subscribed = entitiesOf(events, entities)
  if (rights === null) return subscribed.map(wholeView)
  const read = parseHookRights(rights.split('\n'), entities)
  return subscribed
    .flatMap((entity) => read.find((right) => right.collection === entity) ?? [])
    .map((right) => viewOfRight(right))
}
