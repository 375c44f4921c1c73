import type { Rights } from '../model/rights.ts'

/** A request whose path is understood. */
export interface ResourceRequest {
  readonly request: Request
  /** The path as the client wrote it, behind the server's address. */
  readonly url: string
  /** Without `?`. */
  readonly query: string
  /** The path segment behind the collection's. */
  readonly id: string
  /** Not there: the connection stays open for however long the answer takes. */
  readonly server?: { timeout(request: Request, seconds: number): void } | null | undefined
  /** Whether its key may read the entity; where not, no answer holds more of a row than its id. */
  readonly mayRead: boolean
  /** All that its key may do; null, or not there: it has none. */
  readonly rights?: Rights | null
  /** The id of its key. */
  readonly key: string
  /** The name of its key, which a rotated one has too. */
  readonly keyName: string
  /** What the server keeps of it; not there: nothing. */
  readonly exchange?: unknown
}
