export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /**
   * Path and query of Roster's API. `{1..1000}` here or in the body is a random value of each request: see `load/requests.mjs`.
   */
  readonly path: string
  /** Body as JSON; undefined for a GET. */
  readonly body?: string
  /** Expected status. Any other status makes the result void. */
  readonly status: number
  /** Kind of list, if latencies are counted by kind. */
  readonly kind?: string
  /**
   * Kind of the next page, to which the link `next` of the answer leads: the client requests this page next. Undefined: it
   * follows no link.
   */
  readonly nextKind?: string
  /** API key of the request, which may have random values; undefined: the key of the settings, which has all rights. */
  readonly key?: string
  /** Tokens of persons. If given, `key` is the number of the request's token, from 1. */
  readonly tokens?: readonly string[]
  /** The same request as a key with all rights sends it. It repeats the random values of `path`, and then of `key`. */
  readonly whole?: Pick<Operation, 'path' | 'body' | 'key'>
}
