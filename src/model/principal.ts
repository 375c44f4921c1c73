// Who sends a request: an API key, or a person with a token.
import type { GrantedRights } from './access.ts'
import type { Entity } from './entity.ts'

/**
 * A client to charge. `low` and `high`: 64 bits that identify the client in the shared table; `low` is never 0. `text`: its name
 * in Redis.
 */
export interface Client {
  readonly low: number
  readonly high: number
  readonly text: string
}

/** Rights of a principal at the time of a request, and the state of the copies in memory that decided them. */
export interface RightsNow {
  readonly rights: GrantedRights
  /**
   * State of the copies in memory whose rows decided the rights, for `operations/`; null: the rights depend on no rows in memory.
   */
  readonly moment: object | null
}

export interface Principal {
  /** Id of the key, or the person's pseudonym: the name of the principal in logs, in events and in fair queues. */
  readonly id: string
  /** Name of the key, which a rotated key shares with its replacement; or the person's pseudonym, which no key can have. */
  readonly name: string
  readonly client: Client
  /** Name of the table of a key's own limits (`ownTableOf`). RATE_LIMITS apply if the name is null, or there is no such table. */
  readonly ownTable: string | null
  /** True for a person, to whom RATE_LIMITS_PERSONS apply. */
  readonly isPerson: boolean
  /**
   * Returns the current rights. The rights of a person follow from rows. `reads`: entities that the request will list; their rows
   * and the rows that decide the rights are then read as of one moment. @throws ApiError if the rights cannot be read
   */
  rightsNow(reads?: readonly Entity[]): RightsNow | Promise<RightsNow>
}
