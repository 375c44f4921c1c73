// The baseline: one migration that creates what many earlier migrations created. A database that has all the earlier migrations
// counts as having the baseline.
import type { Statement } from '../model/sql.ts'

/** Migration that creates the whole schema in an empty database. */
export const BASELINE = '0017_baseline.sql'
/** The last migration before the baseline. It leaves the same schema as the baseline creates. */
const LAST_BEFORE = '0017_lines_of_row_change.sql'
/** A commit of this repository that still has all migrations from before the baseline. */
const COMMIT_BEFORE = '4d5f49ce'

/**
 * Statement that reads the migrations of a database. If the database has the last migration before the baseline, it counts as
 * having the baseline, without a checksum.
 */
export const APPLIED: Statement = {
  text: `select file, checksum from migration
    union all select '${BASELINE}', null from migration where file = '${LAST_BEFORE}'`,
  values: [],
}

/** Refuses a database that has only some of the migrations from before the baseline. @throws Error that says how to upgrade it */
export function requireAllBefore(applied: readonly string[]): void {
  if (applied.includes(BASELINE)) return
  const newest = applied
    .filter((file) => file < BASELINE)
    .sort()
    .at(-1)
  if (newest !== undefined)
    throw new Error(
      `the last applied migration is ${newest}, older than this version upgrades from: start commit ${COMMIT_BEFORE} of Roster on the database once (git checkout ${COMMIT_BEFORE}, npm start), then this version`,
    )
}
