/** A key as the database keeps it and workers get it: plain data, and no part of it is enough to get in. */
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

/** Where a process asks for keys by itself. */
export interface KeySource {
  /** All that are valid now. */
  current(): Promise<KeyRecord[]>
  /** The one with this id, if it is valid now. */
  find(id: string): Promise<KeyRecord | null>
  /** Whether an error of these means that the database answers nothing at all. */
  isAway(error: unknown): boolean
}
