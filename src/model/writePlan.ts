import type { Once } from './batch.ts'
import type { Assignments } from './query.ts'

/** A write of one row: which row, what is set, under which conditions, and for which key. */
export interface WritePlan {
  /** Id of the row; '' for a new one. */
  readonly id: string
  /** Values that are set; none for a deletion. */
  readonly values: Assignments
  /** Versions of which the row must have one, an array as PostgreSQL writes it; null: any version. */
  readonly versions: string | null
  /** Idempotency of the write; null: it has no key. */
  readonly once: Once | null
  /** Id of the API key, '' for none. */
  readonly asker: string
}
