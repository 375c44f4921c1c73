// The roles file as the other rooms see it: the rights of persons, and of keys that follow it.
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { NamedView } from '../model/namedView.ts'
import { type Filter, otherEntities } from '../model/query.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import { isOpen } from '../rights/openFilter.ts'
import type { Claims } from './claims.ts'
import { Engine, type Explanation } from './engine.ts'
import type { RolesFile } from './file.ts'
import { KeyRights } from './keyRights.ts'
import { parseFile } from './parse.ts'

export type { Claims } from './claims.ts'
export type { Explanation, RoleOutcome } from './engine.ts'
export { RolesError, type RolesFault } from './faults.ts'

export interface Roles {
  /** Collections that the file declares, each with some rows and properties of an entity. */
  readonly views: readonly NamedView[]
  /** Names of the roles of persons, and of the keys, in the order of the file. */
  readonly names: readonly string[]
  readonly keyNames: readonly string[]
  /** Entities from whose rows the rights of persons follow: those of `me` and of `when`, and those to which their paths lead. */
  readonly sources: readonly Entity[]
  /** Claims by which `me` finds the row of a person. */
  readonly ownClaims: readonly string[]
  /**
   * Returns the rights of a person: at once where `questions` answers at once. Persons with equal rights get the same object.
   * `isEmailVerified`: false if the claim `email` counts for nothing.
   */
  rightsOf(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): GrantedRights | Promise<GrantedRights>
  /** Says how the rights of a person come about. */
  explain(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): Promise<Explanation>
  /** Returns the rights of keys that follow the block `key <name>`, as they are now; null: the file has none of this name. */
  rightsOfKey(name: string): GrantedRights | null
}

/** Parses and checks a roles file. @throws RolesError that has all faults, each with its line */
export function parseRoles(text: string, entities: readonly Entity[]): Roles {
  const file = parseFile(text, entities)
  const { views, roles, keys, me } = file
  const collections = { entities, views }
  const engine = new Engine(file, collections)
  const keyRights = new Map(keys.map((block) => [block.name, new KeyRights(block, collections)]))
  return {
    views,
    names: roles.map(({ name }) => name),
    keyNames: keys.map(({ name }) => name),
    sources: sourcesOf(file),
    ownClaims: claimsIn(me?.filters ?? []),
    rightsOf: (claims, questions, isEmailVerified) => engine.rightsOf(claims, questions, isEmailVerified),
    explain: (claims, questions, isEmailVerified) => engine.explain(claims, questions, isEmailVerified),
    rightsOfKey: (name) => keyRights.get(name)?.now() ?? null,
  }
}

function sourcesOf({ me, roles }: RolesFile): Entity[] {
  const lists = roles.flatMap(({ when }) => (when?.kind === 'list' ? [when.list] : []))
  const asked = me === null ? lists : [me, ...lists]
  return [...new Set(asked.flatMap(({ entity, filters }) => [entity, ...otherEntities(filters, [])]))]
}

/** Names of the claims that filters have as variables. */
function claimsIn(filters: readonly Filter[]): string[] {
  const variables = filters.filter(isOpen).map(({ variable }) => variable)
  return [...new Set(variables.flatMap(({ kind, name }) => (kind === 'claim' ? [name] : [])))]
}
