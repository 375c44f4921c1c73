// API keys as data: their records, where records are read from, and the caller of a statement.

/** The rights of a key as they are stored, in one of three forms. */
export interface StoredRights {
  /** Rights to whole entities, as text of `formatRights`; '' if the rights are stored in another form. */
  readonly rights: string
  /** Rights as addresses of lists, in canonical form, one per line; null: the rights are stored in another form. */
  readonly addresses: string | null
  /** Name of the block of the roles file whose rights the key has; null: the rights are stored in another form. */
  readonly role: string | null
}

/**
 * A key as it is stored in the database and sent to workers. A reader of this record cannot send requests with the key, because
 * the record has only a hash of the key's text.
 */
export interface KeyRecord extends StoredRights {
  /** Public part of the key's text, by which the record is found: 10 letters and digits. */
  readonly id: string
  readonly name: string
  /** SHA-256 of the key's text, in hexadecimal. */
  readonly hash: string
  /** Rate limits as text of `formatRules`; null: the limits of the settings apply. */
  readonly limits: string | null
}

/** Source of the keys in the database. */
export interface KeySource {
  /** Returns a text that changes whenever the valid keys change, also when a key expires. */
  version(): Promise<string>
  /** Returns the keys that are neither revoked nor expired. */
  current(): Promise<KeyRecord[]>
  /** Returns whether an error of `version` or `current` means that the database cannot be reached. */
  isAway(error: unknown): boolean
}

/** The client that a statement runs for. Fair queues prefer clients that have used little database time. */
export interface Caller {
  /** Id of the client's key. */
  readonly key: string
  /** The client's request. Its signal is aborted when the client disconnects. */
  readonly request: { readonly signal: AbortSignal }
}
