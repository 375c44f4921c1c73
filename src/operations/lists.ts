// Answers requests for lists of one entity: from the response cache, the copy in memory, or the database. An unchanged page is
// answered 304. Spec 4.2.
import type { ColumnTable } from '../columns/columnTable.ts'
import { compileList } from '../compile/list.ts'
import { ApiError } from '../errors.ts'
import { Abandoned } from '../execute/listReads.ts'
import { countDatabaseList, countKeptList, countMemoryList } from '../metrics/counts.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Conditions, hasWeakly } from '../model/entityTag.ts'
import { listCostOf } from '../model/listCost.ts'
import { type Filter, type ListQuery, otherEntities, type Reach } from '../model/query.ts'

import type { View } from '../model/view.ts'
import { parseConditions } from '../parse/headers.ts'
import { parseList } from '../parse/list.ts'
import { respondPage } from '../respond/page.ts'
import { NO_STORE, type Reply } from '../respond/reply.ts'
import { withFewIds } from './fewIds.ts'
import { neededCopies } from './neededCopies.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'

/** Reason why the database answers a list or a summary. */
export type Reason = Parameters<typeof countDatabaseList>[0]

/** Returns a page of a list. @throws ApiError */
export async function pageList(view: View, parts: ResourceParts, call: ResourceRequest): Promise<Reply> {
  const { memory, cursors } = parts
  const parse = () => parseList(view, call.query, cursors, call.access)
  if (memory === null) return pageFromDatabase(view, parts, call, parse(), 'noCopy')
  const plainTarget = targetOf(view, call)
  // The query is parsed before the database is asked, so that its faults are reported even if the database fails. A target in the
  // cache has no faults.
  const cachedTables = memory.responses.tablesOf(plainTarget)
  const parsed = cachedTables === null ? parse() : null
  // Copies have no JSON values, so a list that shows JSON is never in the cache. So its query was parsed, and `parsed` is not
  // null.
  if (parsed !== null && showsJson(view, parsed)) return pageFromDatabase(view, parts, call, parsed, 'json')
  const target = withReach(plainTarget, parsed)
  const tables = cachedTables ?? tablesOfList(view, parsed as ListQuery)
  const copies = neededCopies(memory, tables, call.moment ?? null)
  if (copies === null) {
    const query = parsed ?? parse()
    for (const table of tables) memory.load(table)
    return pageFromDatabase(view, parts, call, query, 'noCopy')
  }
  await copies.refresh()
  // If copies were lost or are not current, their `version` is null, and no cached response is found.
  const cached = memory.responses.get(target, copies.version)
  if (cached !== null) {
    copies.requireRights()
    countKeptList()
    return cached
  }
  const query = parsed ?? parse()
  const turn = memory.slices.next(call.key)
  if (turn !== null) {
    await turn
    if (call.request.signal.aborted) throw new Abandoned()
  }
  const prepare = (table: ColumnTable) => table.prepare(query, call, copies.tables)
  const wait = (attempt: number) => copies.waitFor(prepare, attempt)
  for (let attempt = 1, waiting = wait(attempt); waiting; waiting = wait(++attempt)) await waiting
  // No `await` from here on, because the answer is stored under the version of the copies that `find` reads.
  const { version } = copies
  if (version === null) return pageFromDatabase(view, parts, call, query, copies.reason)
  copies.requireRights()
  const startMs = performance.now()
  const found = copies.table.lists.find(query, copies.tables)
  memory.slices.note(performance.now() - startMs)
  if (typeof found === 'string') return pageFromDatabase(view, parts, call, query, found)
  countMemoryList(found.way)
  const reply = respondPage(view, query, found, call.url, cursors)
  memory.responses.set(target, tables, version, reply)
  return reply
}

function showsJson({ properties }: View, { choice }: ListQuery): boolean {
  return (choice?.properties ?? properties).some(({ kind }) => kind.memory === 'presence')
}

function tablesOfList(view: View, { filters, choice }: ListQuery): readonly Entity[] {
  return tablesOf(view, filters, choice?.related ?? [])
}

/** Returns the entities whose tables a query needs, beginning with the entity of the view. */
export function tablesOf({ whole }: View, filters: readonly Filter[], properties: readonly Property[]): readonly Entity[] {
  const others = otherEntities(filters, properties)
  return others.length === 0 ? [whole] : [whole, ...others.filter((other) => other !== whole)]
}

/**
 * Returns the key of a response in the response cache. It contains the text of the right to read, because callers with different
 * rights get different responses.
 */
export function targetOf({ text, relatedText }: View, { url, query }: ResourceRequest): string {
  const target = `${url}?${query}`
  return text === '' && relatedText === '' ? target : `${text}\n${relatedText}\n${target}`
}

/**
 * Adds the caller's rights to write to the cache key of a list or summary that filters by these rights. Such a response is never
 * found by the plain key, so its query is always parsed. `parsed`: null if a response with the plain key is in the cache.
 */
export function withReach(target: string, parsed: { readonly may: Reach | null } | null): string {
  return parsed?.may ? `may ${parsed.may.text}\n${target}` : target
}

async function pageFromDatabase(
  view: View,
  parts: ResourceParts,
  call: ResourceRequest,
  query: ListQuery,
  reason: Reason,
): Promise<Reply> {
  countDatabaseList(reason)
  const statement = compileList(view.whole, await withFewIds(query, view.whole, parts.database))
  const rows = await parts.listReads
    .read(statement, call, listCostOf(view.whole, query))
    .catch(withAdvice(() => suggestCheaperQuery(query)))
  // Index of the column with the total. It is counted from the first column, because in a batch the last column is the number of
  // the run.
  const shown = view.whole.properties.length + (query.choice?.related.length ?? 0)
  const total = Number(rows[0]?.[shown] ?? 0)
  return respondPage(view, query, { rows, total }, call.url, parts.cursors)
}

/** Adds advice to the error of a read that was too costly; rethrows other errors. */
export function withAdvice(advice: () => string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError && error.code === 'TooCostly')) throw error
    throw new ApiError(error.code, `${error.message} To get it: ${advice()}.`, { cause: error.cause })
  }
}

/** Returns advice for a costly query, as a clause of a sentence. */
export function suggestCheaperQuery({
  filters,
  sorts,
  page,
  seek,
}: Pick<ListQuery, 'filters' | 'sorts' | 'page' | 'seek'>): string {
  const ways: string[] = []
  const ofEveryRow = filters.filter(({ operator }) => operator.sign === '!=' || operator.folded !== null)
  if (ofEveryRow.length === filters.length)
    ways.push('filter with = or a range that few rows match; !=, [begins], [contains] and no filter at all read every row')
  else ways.push('narrow the ranges, or add a filter that few rows match')
  if (sorts.length > 1) ways.push(`sort by one property, such as ${sorts[0]?.property.name}`)
  const unindexed = sorts.find(({ property }) => !property.indexed)
  if (unindexed) ways.push(`sort by another property than ${unindexed.property.name}, which has no index`)
  if (page > 1 && seek === null) ways.push(`follow the link "next" page by page instead of asking for page ${page}`)
  return ways.join('; ')
}

/**
 * Answers 304 if the client has this page already. The page's tag stays the same as long as rows, total and links stay the same.
 * The tag is weak, so no `If-Match` matches it. @throws ApiError PreconditionFailed. RFC 9110, 13.1 and 15.4.5, D42
 */
export async function unlessHeld(reply: Promise<Reply> | Reply, conditions: Conditions): Promise<Reply> {
  const page = await reply
  requireAnyVersion(conditions)
  const { ETag = '', 'X-Total-Count': total = '' } = page.headers
  if (conditions.ifNoneMatch === null || !hasWeakly(conditions.ifNoneMatch, ETag.slice(ETag.indexOf('"') + 1, -1))) return page
  // No `Location`: curl and other clients follow it at any status from 300 to 399.
  return { status: 304, headers: { 'Cache-Control': NO_STORE, ETag, 'X-Total-Count': total }, body: null }
}

/**
 * Checks the conditions of a create. Its target is the list, which always exists. @throws ApiError InvalidHeader,
 * PreconditionFailed
 */
export function requireList(headers: Headers): void {
  const conditions = parseConditions(headers)
  if (conditions === null) return
  requireAnyVersion(conditions)
  if (conditions.ifNoneMatch !== '*') return
  const message = 'If-None-Match: * rules out that there is a list to add to; POST never overwrites a row, so leave it out.'
  throw new ApiError('PreconditionFailed', message, { target: 'If-None-Match' })
}

/** Refuses `If-Match` with a version, because lists have no version. @throws ApiError PreconditionFailed */
export function requireAnyVersion({ ifMatch }: Conditions): void {
  if (ifMatch === null || ifMatch === '*') return
  const message = 'A list has no version that If-Match could name; rows have, each at its own address.'
  throw new ApiError('PreconditionFailed', message, { target: 'If-Match' })
}
