// Inputs of the operations: a request after routing, the operations' dependencies, and checks of keys and rights.
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { ListReads } from '../execute/listReads.ts'
import type { LongWrites } from '../execute/longWrites.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { Access, GrantedRights, Verb } from '../model/access.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Collection } from '../model/namedView.ts'
import type { Principal } from '../model/principal.ts'
import type { View } from '../model/view.ts'
import type { Reply } from '../respond/reply.ts'
import type { ConcurrencyLimit } from './concurrencyLimit.ts'
import type { RightsMoment } from './momentRights.ts'

/** The key or person that a request is charged to, and the limits after the last charge. */
export interface Charged {
  /** Null if the request has neither a key nor a token. */
  readonly principal: Principal | null
  /** State of the limits after the last charge; null for paths without limits. */
  rateLimit: RateLimitStatus | null
}

/** A request after routing. */
export interface ResourceRequest {
  readonly request: Request
  /** Path of the request, percent-encoded as the client wrote it. */
  readonly url: string
  /** Query string without `?`. */
  readonly query: string
  /** Last path segment: the id of a row. */
  readonly id: string
  /** Sets the timeout of the connection. Undefined or null: the connection stays open as long as the answer takes. */
  readonly server?: { timeout(request: Request, seconds: number): void } | null | undefined
  /**
   * Access of the key to the endpoint's entity, with at least the right that the method needs; null: the endpoint has no entity.
   */
  readonly access: Access | null
  /** Rights of the key or person; null if the request has none. */
  readonly rights: GrantedRights | null
  /** The copies from which the rights were decided; undefined or null: the rights were not decided from copies. */
  readonly moment?: RightsMoment | null
  /** Id of the key; for a person, her pseudonym. */
  readonly key: string
  /** Name of the key, which stays the same after a rotation; for a person, her pseudonym. */
  readonly keyName: string
  /** The principal that is charged; undefined if no one is charged. */
  readonly charged?: Charged
  /** Answers a request that a custom route makes for its client; undefined if there are no custom routes. */
  readonly answerInner?: (inner: Request) => Promise<Reply>
}

/** Checks and charges keys again while a long request runs. */
export interface KeysInUse {
  /** Returns the current rights of the key, without a charge. @throws ApiError if the key is no longer valid */
  rightsOf(request: Request): Promise<GrantedRights>
  /** Charges one request and returns the current rights of the key. @throws ApiError RateLimitExceeded */
  charge(request: Request): Promise<GrantedRights>
  /**
   * Charges `count` more requests for a request that costs as much work as several. `neverAllowed`: makes the error for a number
   * that the limit, `limit` requests per `period`, can never allow. Default: an error about a body with too many rows. @throws
   * ApiError
   */
  chargeMore(charged: Charged, count: number, neverAllowed?: (limit: number, period: string) => ApiError): Promise<void>
}

/** Returns what a key may do with an entity or a named view. @throws ApiError Forbidden if it has no right to the verb */
export function requireRight(rights: GrantedRights, collection: Collection, verb: Verb): Access {
  const access = rights.accessTo(collection)
  if (access[verb] === null) throw new ApiError('Forbidden', rights.refusal(collection, verb))
  return access
}

/** Returns what the key of a request may write. @throws Error if the request was not checked for this right */
export function accessFor<Write extends 'create' | 'update' | 'delete'>(
  { access }: ResourceRequest,
  verb: Write,
): NonNullable<Access[Write]> {
  const allowed = access?.[verb]
  if (!allowed) throw new Error(`a request writes without the right to ${verb}`)
  return allowed
}

/** Returns the entity as the key of a request reads it. @throws Error if the request was not checked for this right */
export function viewFor({ access }: ResourceRequest): View {
  if (!access?.read) throw new Error('a request reads without a right')
  return access.read
}

export interface ResourceParts {
  readonly database: Database
  readonly listReads: ListReads
  /** Queue of long writes; null: a rename is written like any update. */
  readonly longWrites: LongWrites | null
  readonly cursors: Cursors
  /** Checks and charges keys again in long requests. Undefined: keys cannot be revoked, and each request is charged once. */
  readonly keysInUse?: KeysInUse
  /** Limit on streams of lists, of all entities together. */
  readonly streamLimit: ConcurrencyLimit
  /** Limit on streams of summaries, of all entities together. */
  readonly summaryLimit: ConcurrencyLimit
  /** Limit on bodies of several rows, and on writes by filters that cost several requests, of all entities together. */
  readonly bodyLimit: ConcurrencyLimit
  /**
   * Returns a token of the feed's end for readers of a view; null if no changes are kept, or the feed has no events of the view.
   */
  readonly changesToken?: (view: View, rights: GrantedRights | null) => Promise<string | null>
  /** Copies of tables; null: every list is read from the database. */
  readonly memory: TableCopies | null
}
