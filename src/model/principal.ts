// Who sends a request: an API key, or a person with a token.
import type { GrantedRights } from './access.ts'
import type { Entity } from './entity.ts'

/** A client to charge. `low` and `high`: 64 bits for the shared table, where `low` is never 0. `text`: its name in Redis. */
export interface Client {
  readonly low: number
  readonly high: number
  readonly text: string
}

/** Rights as they are now. */
export interface RightsNow {
  readonly rights: GrantedRights
  /** The moment of the copies in memory from which they were decided, for `operations/`; null: they follow from none. */
  readonly moment: object | null
}

export interface Principal {
  /** Id of the key, or the person's pseudonym: its name in logs, in events and in fair queues. */
  readonly id: string
  /** Name of the key, which a rotated key shares with its replacement; or the person's pseudonym, which no key can have. */
  readonly name: string
  /** The client to charge. */
  readonly client: Client
  /** Name of the table of a key's own limits (`ownTableOf`). RATE_LIMITS apply if it is null, or the table does not exist. */
  readonly ownTable: string | null
  /** True for a person, to whom RATE_LIMITS_PERSONS apply. */
  readonly isPerson: boolean
  /**
   * Returns the rights as they are now. Those of a person follow from rows. `reads`: entities that the request is about to list,
   * so that their rows and those of the rights are read as of one moment. @throws ApiError if they cannot be read
   */
  rightsNow(reads?: readonly Entity[]): RightsNow | Promise<RightsNow>
}
