import type { Statement } from './sql.ts'

/** Many runs of a statement as one, whose values are arrays: one for each value of the statement. */
export interface Batch {
  readonly text: string
  /** Whose rows are whose: `numbered`, by the last column, the run's number from 1; `ordered`, one row for each run. */
  readonly rows: 'numbered' | 'ordered'
  /** The value that must differ among the runs; null: none. */
  readonly distinct: number | null
}

/** A statement of which several runs, each with values of its own, may be one. Without a batch: they cannot be. */
export interface Batchable extends Statement {
  readonly batch?: Batch | null | undefined
}
