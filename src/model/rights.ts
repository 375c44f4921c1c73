// Rights of keys, to read or to write an entity: parses, prints and checks them.
import { suggest } from './nearest.ts'

export type Action = 'read' | 'write'

/** Rights of a key: for each action the plural names of entities, or `*` for all. */
export type Rights = Readonly<Record<Action, ReadonlySet<string>>>

const ACTIONS: readonly Action[] = ['read', 'write']
const EVERY = '*'

/**
 * Returns whether an entity, by its plural name, may be read or written. The right to write does not include the right to read.
 */
export function allows(rights: Rights, plural: string, action: Action): boolean {
  const names = rights[action]
  return names.has(EVERY) || names.has(plural)
}

/** Parses rights such as `Companies:read,Absences:write,*:read`, ignoring case. @throws RangeError that names the faulty part */
export function parseRights(text: string, plurals: readonly string[]): Rights {
  return collect(text.split(',').map((part) => parseRight(part.trim(), plurals)))
}

/** Parses the result of `formatRights`, without rights for entities that no longer exist. */
export function readRights(text: string): Rights {
  const parts = text.split(',').map((part) => part.split(':') as [string, Action])
  return collect(parts.filter(([name, action]) => name && ACTIONS.includes(action)))
}

/** Writes rights in the form `Companies:read,Companies:write`, each once. */
export function formatRights(rights: Rights): string {
  const names = [...rights.read.union(rights.write)]
  return names.flatMap((name) => ACTIONS.filter((action) => rights[action].has(name)).map((action) => `${name}:${action}`)).join()
}

function parseRight(part: string, plurals: readonly string[]): [string, Action] {
  const [name = '', action = '', ...more] = part.split(':')
  const hint = /[\s?]/.test(part) ? '. A verb and an address go to --right' : ''
  if (!name || !action || more.length > 0) throw new RangeError(`"${part}" is not a right like Companies:read${hint}`)
  const known = [EVERY, ...plurals].find((plural) => plural.toLowerCase() === name.toLowerCase())
  if (!known) throw new RangeError(`"${part}" names no entity.${suggest(name, plurals) || ` There are ${plurals.join(', ')}.`}`)
  const wanted = ACTIONS.find((one) => one === action.toLowerCase())
  if (!wanted) throw new RangeError(`"${part}" must end in :read or :write.${suggest(action, ACTIONS)}`)
  return [known, wanted]
}

function collect(rights: readonly [string, Action][]): Rights {
  const namesFor = (action: Action) => new Set(rights.filter(([, one]) => one === action).map(([name]) => name))
  return { read: namesFor('read'), write: namesFor('write') }
}
