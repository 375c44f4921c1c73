// The moment at which a person has her rights: a request begins anew if its rows are of a moment at which the rights differ. D106
import { ApiError } from '../errors.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { RightsNow } from '../model/principal.ts'

/** Maximum times that a request is begun because the rights of its person have changed meanwhile. */
const ATTEMPTS_MAX = 3

/** The copies in memory from which rights were decided, brought to one moment after the arrival of the request. */
export class RightsMoment {
  /**
   * `followFrom`: returns whether the same rights follow from these and further copies in this turn of the event loop.
   */
  constructor(
    readonly copies: readonly TableCopy[],
    readonly followFrom: (copies: readonly TableCopy[]) => boolean,
  ) {}
}

/** Thrown if the person has other rights by the copies in which a list is found than those with which the request began. */
export class RightsChanged extends ApiError {
  /** `tables`: those that the next attempt has to read as of one moment. */
  constructor(readonly tables: readonly Entity[]) {
    const message = 'The rights of the person change faster than the list is found; retry after the seconds in Retry-After.'
    super('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
  }
}

/**
 * Handles a request with the present rights, and begins anew if they have changed before its rows were found. `expected`:
 * entities that it is about to list. @throws ApiError
 */
export async function withRightsOfNow<Result>(
  expected: readonly Entity[],
  rightsNow: (reads: readonly Entity[]) => RightsNow | Promise<RightsNow>,
  handle: (rights: GrantedRights, moment: RightsMoment | null) => Promise<Result> | Result,
): Promise<Result> {
  let reads = expected
  for (let attempt = 1; ; attempt++) {
    const { rights, moment } = await rightsNow(reads)
    try {
      return await handle(rights, moment instanceof RightsMoment ? moment : null)
    } catch (error) {
      if (!(error instanceof RightsChanged) || attempt === ATTEMPTS_MAX) throw error
      // With these tables read along with the rights, nothing has to be waited for between the rights and the rows.
      reads = error.tables
    }
  }
}
