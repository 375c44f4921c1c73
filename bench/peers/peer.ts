import type { Operation } from '../scenarios.ts'

/** Another server on the same tables. */
export interface Peer {
  readonly name: string
  /** Its tables have indexes that were made for the scenarios of new lists, of which alone it is asked. */
  readonly isIndexed: boolean
  /** Without a slash at the end. */
  readonly url: string
  /** All its processes. */
  pids(): readonly number[]
  /** `fastify 5.12.8, pg 8.23.1, Node 20.20.2`. */
  readonly version: string
  /** The operation as the peer's own request; null: it has none for it. */
  translate(operation: Operation): Operation | null
  /** The parsed body of an answer as Roster would have written it. */
  readBody(body: unknown): unknown
  stop(): Promise<void>
}
