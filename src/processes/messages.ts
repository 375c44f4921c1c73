import type { LimiterTables } from '../admit/limiterFiles.ts'
import type { ChangeLogAccess } from '../changes/owner.ts'
import type { Config } from '../config.ts'
import type { KeyRecord } from '../model/key.ts'

/** The keys there are, and the memory in which their requests are counted. */
interface KeysMessage {
  readonly kind: 'keys'
  readonly keys: readonly KeyRecord[]
  readonly memory: LimiterTables
}

/** All that a worker process needs; it comes by a channel that nobody else reads, not by arguments. */
export interface StartMessage {
  readonly kind: 'start'
  readonly config: Config
  readonly databaseUrl: string
  /** Null: the database was not there yet; `begin` follows. */
  readonly cursorSecret: string | null
  readonly bootstrapKeys: readonly string[]
  readonly migrationFiles: readonly string[]
  readonly keys: readonly KeyRecord[]
  readonly memory: LimiterTables
  /** Null: nothing is told from memory. */
  readonly changes: ChangeLogAccess | null
}

/** The database is there: requests are answered from now on. */
interface BeginMessage extends Omit<KeysMessage, 'kind'> {
  readonly kind: 'begin'
  readonly cursorSecret: string
}

export type ToWorker =
  | StartMessage
  | KeysMessage
  | BeginMessage
  /** Asked again and again; who does not answer hangs. */
  | { readonly kind: 'ping' }
  /** Let clients leave for so long, finish, and end. */
  | { readonly kind: 'stop'; readonly leaveMs: number }

export type FromWorker = StateMessage | ReportMessage

/** How the process itself is. */
type StateMessage =
  | { readonly kind: 'ready'; readonly url: string; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'pong' }

/** What the process has to report of its work. */
export type ReportMessage =
  /** Ids of keys that have been used since the last such message. */
  | { readonly kind: 'used'; readonly ids: readonly string[] }
  /** Writes over connections of this name may have been done, or will be, and nobody tells of them. */
  | { readonly kind: 'disown'; readonly connections: string }
  /** The log of changes is needed again after a rest. */
  | { readonly kind: 'wake' }
