/** Who a statement is run for: those who ask for much wait for those who ask for little. */
export interface Asker {
  /** The id of its key. */
  readonly key: string
  /** Aborted when its client has left. */
  readonly request: { readonly signal: AbortSignal }
}
