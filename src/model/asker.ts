/** The client for which a statement is run: clients that ask for much wait for clients that ask for little. */
export interface Asker {
  /** The id of its key. */
  readonly key: string
  /** Aborted when its client has left. */
  readonly request: { readonly signal: AbortSignal }
}
