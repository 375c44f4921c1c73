/** Under what a write is done once, however often it is sent: halves of SHA-256, as hexadecimal digits. D43 */
export interface Once {
  /** Of the API key's id and the client's Idempotency-Key. */
  readonly key: string
  /** Of what is asked for: method, path, values. */
  readonly request: string
}

/** The constraint of the table of keys that a second write under a key meets. */
export const ONCE_CONSTRAINT = 'idempotency_key_pk'
