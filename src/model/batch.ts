// Writes between planning and execution: statements that can run as a batch, idempotency, and the plan of one row's write.
import type { Assignments } from './query.ts'
import type { Statement } from './sql.ts'

/** Many runs of a statement as one, whose values are arrays: one for each value of the statement but the asker. */
export interface Batch {
  readonly text: string
  /**
   * Assignment of rows to runs: `numbered` by the last column, the run's number from 1; `ordered`: one row a run, or none;
   * `found` by the first column, which is the run's first value.
   */
  readonly rows: 'numbered' | 'ordered' | 'found'
  /** Columns that tell which run of `ordered` rows got none: its value is in no row's column. Undefined: each run gets a row. */
  readonly matches?: readonly { readonly value: number; readonly column: number }[] | undefined
  /** The value that must differ among the runs; null: none. */
  readonly distinct: number | null
}

/** A statement of which several runs, each with values of its own, may be one. Without a batch: they cannot be. */
export interface Batchable extends Statement {
  readonly batch?: Batch | null | undefined
  /** Idempotency of the statement: it does nothing the second time, so it may be sent again. */
  readonly once?: Once | null | undefined
  /** Id of the key that writes, '' for none. It is the last value, and the same for all runs of a batch. */
  readonly asker?: string | undefined
}

/** Idempotency of a write: halves of SHA-256, as hexadecimal digits. D43 */
export interface Once {
  /** Hash of the API key's id and the client's Idempotency-Key. */
  readonly key: string
  /** Hash of the request: method, path, values. */
  readonly request: string
}

/** The constraint of the table of keys that a second write under a key meets. */
export const ONCE_CONSTRAINT = 'idempotency_key_pk'

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
