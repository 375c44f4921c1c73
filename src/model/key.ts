// API keys as data: their records in the database, the source of these, and the caller of a statement.

/** A key as the database keeps it and workers get it; no part of it is enough to authenticate. */
export interface KeyRecord {
  /** The part of the key's text that finds it: 10 letters and digits. */
  readonly id: string
  readonly name: string
  /** SHA-256 of the key's text, in hexadecimal. */
  readonly hash: string
  /** As `formatRights` writes them. */
  readonly rights: string
  /** As `formatRules` writes them; null: the server's settings decide. */
  readonly limits: string | null
}

/** The keys in the database. */
export interface KeySource {
  /** A text that differs as soon as the set of valid keys does, whether by a change or by time. */
  version(): Promise<string>
  /** The keys that are valid now. */
  current(): Promise<KeyRecord[]>
  /** Returns whether an error of these means that the database answers nothing at all. */
  isAway(error: unknown): boolean
}

/** The client for which a statement is run: clients that ask for much wait for clients that ask for little. */
export interface Caller {
  /** The id of its key. */
  readonly key: string
  /** Aborted when its client has left. */
  readonly request: { readonly signal: AbortSignal }
}
