// Messages between the supervisor and its workers.
import type { LimiterTables, OwnLimits } from '../admit/limiterFiles.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import type { Samples } from '../metrics/counts.ts'
import type { Certificate } from '../os/certificate.ts'

/**
 * Everything that a worker process needs. It is sent over a channel, because other processes could read the arguments of a
 * process.
 */
export interface StartMessage {
  readonly kind: 'start'
  readonly config: Config
  readonly databaseUrl: string
  /**
   * Secret with which all workers on the database sign cursors. Null if the database is unreachable: then the message `begin`
   * brings the secret later.
   */
  readonly cursorSecret: string | null
  /** A key with all rights that is not in the database; null if the server has no such key. */
  readonly bootstrapKey: string | null
  readonly migrationFiles: readonly string[]
  readonly tables: LimiterTables
  /** Text of the roles file; null if there is no such file. */
  readonly rolesText: string | null
  /** Certificate that the worker presents to clients; null for HTTP without TLS. */
  readonly certificate: Certificate | null
}

export interface WorkerContext extends Omit<StartMessage, 'kind' | 'config'> {
  /** Asks the supervisor for the tables of keys with their own limits. Resolves with null if the supervisor does not answer. */
  tablesFor(limits: OwnLimits): Promise<LimiterTables['own'] | null>
  readonly log: Log
}

/** Time that a stopping worker gives its requests in flight. A statement may take longer, and then its request is cut off. */
export const FINISH_MS = 1_000

export type ToWorker =
  | StartMessage
  /** Tables for the keys that the worker has reported. */
  | { readonly kind: 'tables'; readonly tables: LimiterTables; readonly question: number }
  /** Tells the worker that the database is reachable, so that it answers requests from now on. */
  | { readonly kind: 'begin'; readonly cursorSecret: string }
  /** Asks whether the worker still answers; sent regularly. A worker that leaves many pings unanswered is replaced. */
  | { readonly kind: 'ping' }
  /** Tells the worker to stop: clients have `leaveMs` to leave, then requests in flight have `finishMs` to finish. */
  | { readonly kind: 'stop'; readonly leaveMs: number; readonly finishMs: number }

export interface Ready {
  /** Address of the server, such as `http://127.0.0.1:3000`. */
  readonly url: string
  readonly port: number
  /** True if the worker knew any key when it started. */
  readonly hasKeys: boolean
}

export type FromWorker =
  | ({ readonly kind: 'ready' } & Ready)
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /**
   * Answer to a ping; answers come in the order of the pings. Also the last message of a worker that stops. `samples`: null if
   * metrics are off.
   */
  | { readonly kind: 'pong'; readonly samples: Samples | null }
  /**
   * Tells that the worker has read new keys. `limits`: names of the tables that these keys need. The supervisor answers with a
   * message `tables`, which has the files of the tables.
   */
  | { readonly kind: 'keys'; readonly limits: OwnLimits; readonly question: number }
