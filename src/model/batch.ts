// What the compiler passes on for execution: the batch form of a statement, its idempotency claim, and the plan of a write.
import type { Guard } from './access.ts'
import type { Assignments } from './query.ts'
import type { Statement } from './sql.ts'

/**
 * Batch form of a statement, which executes several runs at once. Each value is an array with one element per run. Only the last
 * values, which all runs share, are not arrays.
 */
export interface Batch {
  readonly text: string
  /**
   * Rule by which returned rows are assigned to runs. `number`: the last column is the number of the run, from 1. `position`: the
   * rows are in the order of the runs, at most one row for each. `numbers`: the last column of every row has the same list of run
   * numbers; the first row belongs to the first run of the list, the second row to the second run. `id`: the first column equals
   * the first value of the run.
   */
  readonly matchBy: 'number' | 'numbers' | 'position' | 'id'
  /**
   * Pairs of indexes: of a value of the run, and of the column in which the run's row has the same value. If some runs return no
   * row, `position` compares these values and columns, to find the run of each row. Undefined: every run returns a row.
   */
  readonly keyColumns?: readonly { readonly value: number; readonly column: number }[] | undefined
  /** Index of a value. Runs in which this value is equal are not executed in the same batch. Null: all runs can share a batch. */
  readonly distinct: number | null
  /**
   * Number of values, at the end of `values`, that all runs share: the values of the key's rights, and the id of the API key that
   * writes. Default: 0.
   */
  readonly shared?: number
}

/** A statement with its values. Several runs of it can be executed as one batch. */
export interface BatchableStatement extends Statement {
  /** The batch form; null or undefined: its runs are never batched. */
  readonly batch?: Batch | null | undefined
  /**
   * Claim that makes the statement idempotent: repeating the statement has no effect, so the statement can be sent again after a
   * lost connection.
   */
  readonly claim?: IdempotencyClaim | null | undefined
  /** Id of the API key that writes, '' if there is none. It is also the last of the statement's values. */
  readonly keyId?: string | undefined
}

/** An Idempotency-Key and its request, each as half of a SHA-256 in hexadecimal. D43 */
export interface IdempotencyClaim {
  /** Hash of the API key's name and the client's Idempotency-Key. */
  readonly key: string
  /** Hash of the request: method, path and values. */
  readonly request: string
}

/** Lock timeout of a batch, in ms. After it, the runs are sent one by one, so that only writes of locked rows wait. */
export const BATCH_LOCK_MS_MAX = 100

/** Primary key of the table of Idempotency-Keys. A concurrent write with the same Idempotency-Key violates it. */
export const CLAIM_CONSTRAINT = 'idempotency_key_pk'

/** A write of one row: its id, new values, conditions, and API key. */
export interface WritePlan {
  /** Id of the row; '' for a new row. */
  readonly id: string
  /** New values; empty for a deletion. */
  readonly values: Assignments
  /** Text of a PostgreSQL array of versions: the row must have one of them. Null: the row may have any version. */
  readonly versions: string | null
  /** Claim of the Idempotency-Key; null if the request has none. */
  readonly claim: IdempotencyClaim | null
  /** Id of the API key, '' if there is none. */
  readonly keyId: string
  /** Conditions that the key's rights impose; null: there are none to check. */
  readonly guard: Guard | null
}
