// Messages between the supervisor and its workers.
import type { LimiterTables, OwnLimits } from '../admit/limiterFiles.ts'
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import type { Samples } from '../metrics/counts.ts'
import type { Certificate } from '../os/certificate.ts'

/** All that a worker process needs; over a channel that no other process reads, unlike arguments. */
export interface StartMessage {
  readonly kind: 'start'
  readonly config: Config
  readonly databaseUrl: string
  /** Secret with which every worker on the database signs cursors; null: the database is away, and `begin` follows. */
  readonly cursorSecret: string | null
  /** A key with all rights that no database has. */
  readonly bootstrapKey: string | null
  readonly migrationFiles: readonly string[]
  readonly tables: LimiterTables
  /** Null: HTTP in clear text. */
  readonly certificate: Certificate | null
}

/** Dependencies of a worker beyond the settings. */
export interface WorkerContext extends Omit<StartMessage, 'kind' | 'config'> {
  /** Asks the supervisor for the tables of keys with limits of their own; null: it does not answer. */
  tablesFor(limits: OwnLimits): Promise<LimiterTables['own'] | null>
  readonly log: Log
}

/** Time for the requests of a worker that is stopped. Less than a statement may take: a stop does not wait for slow ones. */
export const FINISH_MS = 1_000

export type ToWorker =
  | StartMessage
  /** The tables for the keys that the worker has reported. */
  | { readonly kind: 'tables'; readonly tables: LimiterTables; readonly question: number }
  /** The database is reachable: requests are answered from now on. */
  | { readonly kind: 'begin'; readonly cursorSecret: string }
  /** Sent again and again; a worker that does not answer hangs. */
  | { readonly kind: 'ping' }
  /** The worker lets clients leave for `leaveMs`, finishes what runs within `finishMs`, and ends. */
  | { readonly kind: 'stop'; readonly leaveMs: number; readonly finishMs: number }

export interface Ready {
  /** `http://127.0.0.1:3000`. */
  readonly url: string
  readonly port: number
  /** True if it knew any key when it started. */
  readonly hasKeys: boolean
}

export type FromWorker =
  | ({ readonly kind: 'ready' } & Ready)
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The answer to a ping, in their order, or the last message before the end. `samples`: null, where there are no scrapes. */
  | { readonly kind: 'pong'; readonly samples: Samples | null }
  /** The worker has read other keys: those with limits of their own need a table each, in a message `tables`. */
  | { readonly kind: 'keys'; readonly limits: OwnLimits; readonly question: number }
