// Inputs of the operations: a request after routing, their dependencies, and checks of keys and rights.
import type { Key } from '../admit/keyring.ts'
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { ListReads } from '../execute/listReads.ts'
import type { LongWrites } from '../execute/longWrites.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { type Action, allows, type Rights } from '../model/rights.ts'
import type { Reply } from '../respond/reply.ts'
import type { ConcurrencyLimit } from './concurrencyLimit.ts'

/** The key of a request, and its limits after the last charge. */
export interface Charged {
  /** Null: the request has none. */
  readonly key: Key | null
  /** Null: nothing is charged here. As of the last request that it was charged. */
  rateLimit: RateLimitStatus | null
}

/** A request whose path is understood. */
export interface ResourceRequest {
  readonly request: Request
  /** The path as the client wrote it, behind the server's address. */
  readonly url: string
  /** Without `?`. */
  readonly query: string
  /** The path segment behind the collection's. */
  readonly id: string
  /** Undefined or null: the connection stays open for however long the answer takes. */
  readonly server?: { timeout(request: Request, seconds: number): void } | null | undefined
  /** True if its key may read the entity; if not, no response contains more of a row than its id. */
  readonly mayRead: boolean
  /** All that its key may do; null, or not there: it has none. */
  readonly rights?: Rights | null
  /** The id of its key. */
  readonly key: string
  /** The name of its key, which a rotated one has too. */
  readonly keyName: string
  /** The key that pays for the request; not there: none does. */
  readonly charged?: Charged
  /** Answers another request for the same client; not there: no route of a project's own is asked. */
  readonly answerInner?: (inner: Request) => Promise<Reply>
}

/** Checks and charges the keys of requests that go on, or wait. */
export interface KeysInUse {
  /** Returns the rights of the key as of now; charges nothing. @throws ApiError if it is not valid any more */
  rightsOf(request: Request): Promise<Rights>
  /** Returns the rights of the key as of now, and charges a request. @throws ApiError RateLimitExceeded */
  charge(request: Request): Promise<Rights>
  /** Charges `count` requests more than the one that was charged, for one that is as much work. @throws ApiError */
  chargeMore(charged: Charged, count: number): Promise<void>
}

/** Checks that a key may do this with the entity, which its plural names. @throws ApiError Forbidden */
export function requireRight(rights: Rights, plural: string, action: Action): void {
  if (!allows(rights, plural, action)) throw new ApiError('Forbidden', `The key does not have the right ${plural}:${action}.`)
}

/** Dependencies of the operations. */
export interface ResourceParts {
  readonly database: Database
  readonly listReads: ListReads
  /** Null: every rename runs as other writes do. */
  readonly longWrites: LongWrites | null
  readonly cursors: Cursors
  /** The keys of requests that go on; not there: none ever ends, and each request is charged once. */
  readonly keysInUse?: KeysInUse
  /** Limits on streams, and on bodies of several rows, of all entities together. */
  readonly streamLimit: ConcurrencyLimit
  readonly summaryLimit: ConcurrencyLimit
  readonly bodyLimit: ConcurrencyLimit
  /** The token behind all changes of an entity up to now; not there, or null: no changes are kept. */
  readonly changesToken?: (entity: Entity) => Promise<string | null>
  /** Null: every list is read from the database. */
  readonly memory: TableCopies | null
}
