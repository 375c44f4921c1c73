// The roles file as the other rooms see it: the rights of persons, and of keys with a block in the file.
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { NamedView } from '../model/namedView.ts'
import { otherEntities } from '../model/query.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import type { Claims } from '../model/token.ts'
import { isOpen, type Variable } from '../rights/openFilter.ts'
import { Engine, type Explanation } from './engine.ts'
import { printCondition, type RightInFile, type RolesFile } from './file.ts'
import { KeyRights } from './keyRights.ts'
import { parseFile } from './parse.ts'
import { variablesOf } from './person.ts'

export type { Claims } from '../model/token.ts'
export type { Explanation } from './engine.ts'
export { RolesError, type RolesFault } from './faults.ts'

export interface Roles {
  /** Named views that the file declares; each shows some rows and properties of an entity. */
  readonly views: readonly NamedView[]
  readonly outline: Outline
  /**
   * Entities whose rows decide on the rights of persons: the entities that `me` and `when` name, and the entities to which their
   * paths lead.
   */
  readonly sources: readonly Entity[]
  /**
   * Returns the rights of a person. Returns a promise only if `questions` returns one. Persons with equal rights get the same
   * object. `isEmailVerified`: false if the claim `email` must not be used.
   */
  rightsOf(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): GrantedRights | Promise<GrantedRights>
  /** Returns which rights a person has, and why. */
  explain(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): Promise<Explanation>
  /** Returns the current rights of keys with the block `key <name>`; null if the file has no block of this name. */
  rightsOfKey(name: string): GrantedRights | null
}

/** Contents of a roles file in canonical form. */
export interface Outline {
  /** Address of the list that finds the person's own row; null if the file does not look for a row. */
  readonly me: string | null
  /** Claims by which the person's own row is found. */
  readonly ownClaims: readonly string[]
  /** All claims that the file names, first the claims of the line `me`. */
  readonly claims: readonly string[]
  /** Definitions of the views, such as `view Directory Employees?EmploymentEnd=`. */
  readonly views: readonly string[]
  /** `when`: the condition of the role; null if everybody has the role. */
  readonly roles: readonly { readonly name: string; readonly when: string | null; readonly rights: readonly string[] }[]
  readonly keys: readonly { readonly name: string; readonly rights: readonly string[] }[]
}

/** Parses and checks a roles file. @throws RolesError that has all faults, each with its line */
export function parseRoles(text: string, entities: readonly Entity[]): Roles {
  const file = parseFile(text, entities)
  const { views, keys } = file
  const collections = { entities, views }
  const engine = new Engine(file, collections)
  const keyRights = new Map(keys.map((block) => [block.name, new KeyRights(block, collections)]))
  return {
    views,
    outline: outlineOf(file),
    sources: sourcesOf(file),
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

function outlineOf(file: RolesFile): Outline {
  const { me, views, roles, keys } = file
  const own = (me?.filters ?? []).filter(isOpen).map(({ variable }) => variable)
  const textsOf = (rights: readonly RightInFile[]) => rights.map(({ right }) => right.text)
  return {
    me: me?.text ?? null,
    ownClaims: claimsAmong(own),
    claims: claimsAmong(variablesOf(file)),
    views: views.map(({ text }) => text),
    roles: roles.map(({ name, when, rights }) => ({ name, when: when && printCondition(when), rights: textsOf(rights) })),
    keys: keys.map(({ name, rights }) => ({ name, rights: textsOf(rights) })),
  }
}

function claimsAmong(variables: readonly Variable[]): string[] {
  return [...new Set(variables.flatMap(({ kind, name }) => (kind === 'claim' ? [name] : [])))]
}
