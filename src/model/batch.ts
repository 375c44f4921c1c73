// Statements between compilation and execution: those that can run as a batch, idempotency, and the plan of one row's write.
import type { Assignments } from './query.ts'
import type { Statement } from './sql.ts'

/** Several runs of a statement as one, whose values are arrays: one for each value of the statement but the API key. */
export interface Batch {
  readonly text: string
  /**
   * How rows are assigned to runs. `number`: by the last column, the run's number from 1. `position`: one row a run, or none, in
   * the order of the runs. `id`: by the first column, which is the run's first value.
   */
  readonly matchBy: 'number' | 'position' | 'id'
  /** Columns that match a row to its run, for runs that may return none. Undefined: each run returns a row. */
  readonly keyColumns?: readonly { readonly value: number; readonly column: number }[] | undefined
  /** Index of the value that must differ among the runs; null: none. */
  readonly distinct: number | null
}

/** A statement of which several runs, each with values of its own, may be one. */
export interface BatchableStatement extends Statement {
  /** Null, or not there: its runs are never a batch. */
  readonly batch?: Batch | null | undefined
  /** Makes the statement idempotent: it has no effect the second time, so it may be sent again. */
  readonly claim?: IdempotencyClaim | null | undefined
  /** Id of the API key that writes, '' for none. It is the last value, and the same for all runs of a batch. */
  readonly keyId?: string | undefined
}

/** An Idempotency-Key and the request that it was sent with: halves of SHA-256, as hexadecimal digits. D43 */
export interface IdempotencyClaim {
  /** Hash of the API key's name and the client's Idempotency-Key. */
  readonly key: string
  /** Hash of the request: method, path, values. */
  readonly request: string
}

/** Lock timeout of a batch. Then its runs are sent one by one, so that only writes of locked rows wait. */
export const BATCH_LOCK_MS_MAX = 100

/** The constraint of the table of keys that a second write under a key meets. */
export const CLAIM_CONSTRAINT = 'idempotency_key_pk'

/** A write of one row: which row, what is set, under which conditions, and for which key. */
export interface WritePlan {
  /** Id of the row; '' for a new one. */
  readonly id: string
  /** Values that are set; none for a deletion. */
  readonly values: Assignments
  /** Versions of which the row must have one, an array as PostgreSQL writes it; null: any version. */
  readonly versions: string | null
  /** Null: the request has no Idempotency-Key. */
  readonly claim: IdempotencyClaim | null
  /** Id of the API key, '' for none. */
  readonly keyId: string
}
