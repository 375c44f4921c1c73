// Rights that were decided from copies in memory, with the copies that had been brought to one moment for it. D106
import { ApiError } from '../errors.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { Access, GrantedRights, Origin, Right, Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { Collection } from '../model/namedView.ts'

/** Maximum times that a request is begun because the rights of its person have changed meanwhile. */
const ATTEMPTS_MAX = 3

export class MomentRights implements GrantedRights {
  /**
   * `copies`: brought to one moment after the arrival of the request. `followFrom`: returns whether the same rights follow from
   * these and further copies as they are in this turn of the event loop.
   */
  constructor(
    private readonly granted: GrantedRights,
    readonly copies: readonly TableCopy[],
    readonly followFrom: (copies: readonly TableCopy[]) => boolean,
  ) {}

  get text(): string {
    return this.granted.text
  }

  get signedText(): string {
    return this.granted.signedText
  }

  get rights(): readonly Right[] {
    return this.granted.rights
  }

  get origins(): ReadonlyMap<Right, Origin> {
    return this.granted.origins
  }

  get fault(): string | null {
    return this.granted.fault
  }

  get refusalOfAll(): string | null {
    return this.granted.refusalOfAll
  }

  accessTo(collection: Collection): Access {
    return this.granted.accessTo(collection)
  }

  refusal(collection: Collection, verb: Verb): string {
    return this.granted.refusal(collection, verb)
  }
}

/** Thrown when other rights follow from the moment of a list than those with which its request was begun. */
export class RightsChanged extends ApiError {
  /** `tables`: those that the request needs as of one moment. */
  constructor(readonly tables: readonly Entity[]) {
    const message = 'The rights of the person change faster than the list is found; retry after the seconds in Retry-After.'
    super('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
  }
}

/**
 * Handles a request with the rights of now, and begins anew if they have changed before its rows were found. `expected`: entities
 * that it is about to list. @throws ApiError
 */
export async function withRightsOfNow<Result>(
  expected: readonly Entity[],
  rightsNow: (reads: readonly Entity[]) => GrantedRights | Promise<GrantedRights>,
  handle: (rights: GrantedRights) => Promise<Result> | Result,
): Promise<Result> {
  let reads = expected
  for (let attempt = 1; ; attempt++) {
    const rights = await rightsNow(reads)
    try {
      return await handle(rights)
    } catch (error) {
      if (!(error instanceof RightsChanged) || attempt === ATTEMPTS_MAX) throw error
      // Then nothing has to be waited for between the rights and the rows.
      reads = error.tables
    }
  }
}
