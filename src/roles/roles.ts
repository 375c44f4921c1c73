// The roles file as the other rooms see it: the rights of persons, and of keys that follow it.
import { Refused } from '../errors.ts'
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'

/** What a token says about a person. */
export type Claims = Readonly<Record<string, unknown>>

export interface Roles {
  /** Collections that the file declares, each of them a narrower one of an entity. */
  readonly views: readonly Entity[]
  /**
   * Returns the rights of a person: at once where `questions` answers at once. Persons with equal rights get the same object.
   * `isEmailVerified`: false if the claim `email` counts for nothing.
   */
  rightsOf(claims: Claims, questions: RowQuestions, isEmailVerified: boolean): GrantedRights | Promise<GrantedRights>
  /** Returns the rights of keys that follow the block `key <name>`, as they are now; null: the file has none of this name. */
  rightsOfKey(name: string): GrantedRights | null
}

/** A fault of a roles file, with the number of its line, from 1. */
export interface RolesFault {
  readonly line: number
  readonly message: string
}

/** A text that is no roles file. It has all faults, in the order of their lines. */
export class RolesError extends Refused {
  constructor(readonly faults: readonly RolesFault[]) {
    super(faults.map(({ line, message }) => `line ${line}: ${message}`).join('\n'))
  }
}
