// The baseline: one migration for what single ones created before, so that a database that has all of those goes on as it is.
import type { Statement } from '../model/sql.ts'

/** File that creates the whole schema in an empty database. */
export const BASELINE = '0017_baseline.sql'
/** The last of the single migrations, whose schema the baseline has. */
const LAST_BEFORE = '0017_lines_of_row_change.sql'
/** A commit of this repository that still has all single migrations. */
const COMMIT_BEFORE = '4d5f49ce'

/**
 * Reads the migrations that a database has. If it has the last of the single migrations, it has the baseline, without a checksum.
 */
export const APPLIED: Statement = {
  text: `select file, checksum from migration
    union all select '${BASELINE}', null from migration where file = '${LAST_BEFORE}'`,
  values: [],
}

/** Refuses a database that has only some of the single migrations. @throws Error that says how to upgrade it */
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
