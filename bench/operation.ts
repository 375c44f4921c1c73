/** One kind of request, for the load program and for the peers. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT'
  /** Path and query as Roster takes them. `{1..1000}` here or in the body is drawn for each request: see `load/draws.mjs`. */
  readonly path: string
  /** What is asked for is behind this link of the answer to `path`: only the server can write it. See `followLinks`. */
  readonly link?: 'next'
  /** JSON; none for a GET. */
  readonly body?: string
  /** Beside the key and the content type. */
  readonly headers?: Readonly<Record<string, string>>
  /** Any other status voids the row. */
  readonly status: number
  /** How often beside the other operations of its scenario; default 1. */
  readonly weight?: number
}
