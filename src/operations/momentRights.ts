// Ties a person's rights to the snapshot of the copies in memory. A request begins anew if its rows are of a newer snapshot, in
// which the person has different rights. D106
import { ApiError } from '../errors.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { RightsNow } from '../model/principal.ts'

/** Maximum attempts at a request if the person's rights keep changing while it runs. */
const ATTEMPTS_MAX = 3

/** The copies in memory from which rights were decided. All were of one snapshot, taken after the request arrived. */
export class RightsMoment {
  /**
   * `followFrom`: returns whether the same rights follow from its argument in this turn of the event loop. The argument includes
   * all `copies` of this object.
   */
  constructor(
    readonly copies: readonly TableCopy[],
    readonly followFrom: (copies: readonly TableCopy[]) => boolean,
  ) {}
}

/**
 * Thrown if the copies in which the rows of a request are found no longer give the person the rights with which the request
 * began.
 */
export class RightsChanged extends ApiError {
  /** `tables`: entities whose copies the next attempt has to refresh together. */
  constructor(readonly tables: readonly Entity[]) {
    const message = 'The rights of the person change faster than the list is found; retry after the seconds in Retry-After.'
    super('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
  }
}

/**
 * Handles a request with the present rights. Begins anew if the rights have changed before the request's rows were found.
 * `expected`: entities that the request is about to list. @throws ApiError
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
      // The next attempt refreshes these tables together with the rights, so that it need not wait after it has decided the
      // rights.
      reads = error.tables
    }
  }
}
