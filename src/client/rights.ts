import type { Connection } from './connection.ts'
import { unexpected } from './error.ts'
import type { RosterCall } from './query.ts'

/** A condition of a right. Operands are texts, as in requests; null stands for no value. */
export interface RosterCondition {
  readonly property: string
  /** Sign of the operator. With `[]`, the condition has `values`; with any other sign, it has a `value`. */
  readonly operator: string
  readonly value?: string | null
  readonly values?: readonly (string | null)[]
}

/** A right of the key or person: to one verb, for rows of one entity. */
export interface RosterRight<Entity extends string = string> {
  /** The right in the notation that operators write. */
  readonly text: string
  /** Role that gives the right to a person; null for the right of a key. */
  readonly role: string | null
  /** The right as it is in the roles file, with variables such as `{me.Id}`; null for the right of a key. */
  readonly template: string | null
  readonly collection: Entity
  readonly verb: 'read' | 'create' | 'update' | 'delete'
  /** Names of the properties that are seen or set; null: all properties. */
  readonly properties: readonly string[] | null
  /** Conditions that a row must meet to be read, created, changed or deleted. */
  readonly filters: readonly RosterCondition[]
  /** Conditions that a row must meet after a change. Null: it must still meet the conditions in `filters`. */
  readonly becomes: readonly RosterCondition[] | null
}

/** Returns the rights of the key. */
export async function rightsOf<Entity extends string>(
  connection: Connection,
  { signal }: RosterCall = {},
): Promise<RosterRight<Entity>[]> {
  const answer = await connection.send({ method: 'GET', path: '/Rights', signal })
  if (!Array.isArray(answer.body)) throw unexpected(answer, 'was answered without rights')
  return answer.body
}
