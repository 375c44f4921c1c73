// Events that a hook subscribes to: parses and matches names such as `Employees:update`.
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { suggest } from '../model/nearest.ts'

const ALL_EVENTS = '*'
export const ACTIONS = ['create', 'update', 'delete']
const EVENTS_MAX = 100

/**
 * Parses events such as `Employees:update,delete`, `Employees` for all actions on employees, or `*` for all events. @throws
 * RangeError that lists the possible names
 */
export function parseEvents(texts: readonly string[], plurals: readonly string[]): string[] {
  const events = new Set(texts.flatMap((text) => parseOne(text, plurals)))
  if (events.size > EVENTS_MAX) throw new RangeError(`There may be up to ${EVENTS_MAX}.`)
  return events.has(ALL_EVENTS) ? [ALL_EVENTS] : [...events].sort()
}

function parseOne(text: string, plurals: readonly string[]): string[] {
  if (text.trim() === ALL_EVENTS) return [ALL_EVENTS]
  const [name = '', actions = ACTIONS.join(), ...more] = text.split(':')
  const plural = plurals.find((one) => one.toLowerCase() === name.trim().toLowerCase())
  if (plural === undefined || more.length > 0) {
    const hint = suggest(name, plurals) || ` There are ${plurals.join(', ')}, and * for all.`
    throw new RangeError(`"${excerpt(text)}" names no entity.${hint}`)
  }
  return actions.split(',').map((part) => `${plural}:${parseAction(part)}`)
}

function parseAction(text: string): string {
  const action = ACTIONS.find((one) => one === text.trim().toLowerCase())
  if (action !== undefined) return action
  const hint = suggest(text, ACTIONS) || ` There are ${ACTIONS.join(', ')}.`
  throw new RangeError(`"${excerpt(text)}" is not what can happen to a row.${hint}`)
}

/** Returns the entities of the events. Names of entities that no longer exist are skipped. */
export function entitiesOf(events: readonly string[], entities: readonly Entity[]): Entity[] {
  if (events.includes(ALL_EVENTS)) return [...entities]
  return entities.filter(({ plural }) => events.some((event) => event.startsWith(`${plural}:`)))
}

/** Returns whether a hook subscribes to an event. `type`: name of the event, such as `Employees:update`. */
export function wantsEvent(events: readonly string[], type: string): boolean {
  return events.includes(ALL_EVENTS) || events.includes(type)
}
