import type { Rows } from './data/table.ts'
import type { Operation } from './operation.ts'

export interface Scenario {
  /** What `--only` takes. */
  readonly name: string
  readonly title: string
  readonly operations: readonly Operation[]
  /** Runs beside them and is not in the row's figures, but for its CPU. */
  readonly background?: { readonly operations: readonly Operation[]; readonly rate: number }
  /** Paths that are asked for once before each round, so that the server has them in memory. */
  readonly prepare?: readonly string[]
  /** Every round begins without what was learned in those before, so that no figure depends on their number. */
  readonly isCold?: boolean
  /**
   * Each request asks for a list that was not asked before, so that there is nothing to be forgotten between rounds.
   * Beside the peers there are the same with an index that was made for this list.
   */
  readonly isNew?: boolean
  /** Lists whose cost without their total can be measured: see the floor `uncounted`. */
  readonly hasUncounted?: boolean
  /** Neither SQL alone nor other servers can do it. */
  readonly isOurs?: boolean
  /** Which key the requests carry: one with all rights, none, or one whose limit is used up. Default: valid. */
  readonly key?: 'none' | 'exhausted'
}

/** An entry of the table: a scenario for any number of rows, from `absencesMin` on. */
export type Entry = Omit<Scenario, 'operations' | 'background'> & {
  readonly absencesMin?: number
  /** Says little more than another one does: not for a quick run, unless it is asked for by name. */
  readonly isDetail?: boolean
  operations(rows: Rows): readonly Operation[]
  background?(rows: Rows): NonNullable<Scenario['background']>
}
