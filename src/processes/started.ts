/** What there is to say of a server that has started. */
export interface Started {
  readonly url: string
  /** Null: there is no port for metrics. */
  readonly adminUrl: string | null
  readonly workers: number
  /** To be shown to a developer; null where the operator makes the keys. */
  readonly developmentKey: string | null
  readonly hasKeys: boolean
}
