export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /**
   * Path and query of Roster's API. `{1..1000}` here or in the body is a random value of each request: see `load/requests.mjs`.
   */
  readonly path: string
  /** Body as JSON; undefined for a GET. */
  readonly body?: string
  /** Expected status; any other one voids the result. */
  readonly status: number
  /** Kind of list, if latencies are counted by kind. */
  readonly kind?: string
  /** Kind of the page that the link `next` of the answer leads to, which the client asks for next; undefined: it follows no link. */
  readonly nextKind?: string
  /** API key of the request, which may have random values; undefined: the key of the settings, which has all rights. */
  readonly key?: string
  /** Tokens of persons: `key` is the number of the one that the request has, from 1. */
  readonly tokens?: readonly string[]
  /** The same request for a key of all rights. Its random values are those of `path`, and then of `key`. */
  readonly whole?: Pick<Operation, 'path' | 'body' | 'key'>
}
