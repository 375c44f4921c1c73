import { ApiError } from '../errors.ts'
import { type Conditions, hasWeakly } from '../model/entityTag.ts'
import { NO_STORE, type Reply } from '../respond/reply.ts'

/**
 * 304 in place of a page that its client has already, by the page's tag: it is the same while rows, total and links are.
 * The tag is weak, so none that `If-Match` names is it. @throws ApiError PreconditionFailed. RFC 9110, 13.1 and 15.4.5, D42
 */
export async function unlessHeld(asked: Promise<Reply> | Reply, conditions: Conditions): Promise<Reply> {
  const page = await asked
  requireAnyVersion(conditions)
  const { ETag = '', 'X-Total-Count': total = '' } = page.headers
  if (conditions.ifNoneMatch === null || !hasWeakly(conditions.ifNoneMatch, opaqueOf(ETag))) return page
  // Without `Location`: curl and others follow it at any status from 300 to 399.
  return { status: 304, headers: { 'Cache-Control': NO_STORE, ETag, 'X-Total-Count': total }, body: null }
}

/** For a create, which asks the list that it adds to: there always is one. @throws ApiError PreconditionFailed */
export function requireList(conditions: Conditions): void {
  requireAnyVersion(conditions)
  if (conditions.ifNoneMatch !== '*') return
  const message =
    'If-None-Match: * rules out that there is a list to add to; POST never overwrites a row, so leave it out.'
  throw new ApiError('PreconditionFailed', message, { target: 'If-None-Match' })
}

/** @throws ApiError PreconditionFailed where `If-Match` names a version */
export function requireAnyVersion({ ifMatch }: Conditions): void {
  if (ifMatch === null || ifMatch === '*') return
  const message = 'A list has no version that If-Match could name; rows have, each at its own address.'
  throw new ApiError('PreconditionFailed', message, { target: 'If-Match' })
}

/** Of `W/"1kzp"`, what stands in its quotes. */
function opaqueOf(tag: string): string {
  return tag.slice(tag.indexOf('"') + 1, -1)
}
