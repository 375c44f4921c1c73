import type { ListSource } from '../cache/listSource.ts'
import { ApiError } from '../errors.ts'
import { TooCostly } from '../execute/listReads.ts'
import type { Asker } from '../model/asker.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { type Conditions, hasWeakly } from '../model/entityTag.ts'
import type { ListQuery } from '../model/query.ts'
import { parseList } from '../parse/list.ts'
import { type Found, respondPage } from '../respond/page.ts'
import { NO_STORE, type Reply } from '../respond/reply.ts'

/** The lists of one entity: parse, find, respond. Spec 4.2. */
export class Lists {
  constructor(
    private readonly entity: Entity,
    private readonly cursors: Cursors,
    private readonly source: ListSource,
  ) {}

  /** `text`: the query string. `url`: what links begin with. @throws ApiError */
  read(text: string, url: string, asker: Asker): Promise<Reply> | Reply {
    const key = `${url}?${text}`
    return this.source.kept(key) ?? this.find(key, text, url, asker)
  }

  private async find(key: string, text: string, url: string, asker: Asker): Promise<Reply> {
    const query = parseList(this.entity, text, this.cursors)
    const respond = (found: Found) => respondPage(this.entity, query, found, url, this.cursors)
    try {
      return await this.source.find(key, query, asker, respond)
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
      throw new ApiError(error.code, `${error.message} To get it: ${narrowing(query)}.`, { cause: error.cause })
    }
  }
}

/** What would make a list cheaper, by what it asks for; a clause of a sentence. */
export function narrowing({ filters, sorts, page, seek }: ListQuery): string {
  const ways: string[] = []
  const excluding = filters.filter(({ operator }) => operator.prefix === '!=')
  if (excluding.length === filters.length)
    ways.push('filter with = or a range that few rows match, which != and no filter at all are not')
  else ways.push('narrow the ranges, or add a filter that few rows match')
  if (sorts.length > 1) ways.push(`sort by one property, such as ${sorts[0]?.property.name}`)
  const unindexed = sorts.find(({ property }) => !property.indexed)
  if (unindexed) ways.push(`sort by another property than ${unindexed.property.name}, which has no index`)
  if (page > 1 && seek === null) ways.push(`follow the link "next" page by page instead of asking for page ${page}`)
  return ways.join('; ')
}

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
