// Answers requests for summaries of one entity, as pages or streams. Groups come from the response cache, the copy in memory, or
// the database. D76
import type { ColumnTable } from '../columns/columnTable.ts'
import type { Grouping } from '../columns/grouping.ts'
import { TooManyGroups } from '../columns/groupKeys.ts'
import { KernelFull } from '../columns/kernel.ts'
import { withZonedStarts } from '../columns/zonedStarts.ts'
import { compileSummary } from '../compile/summary.ts'
import { ApiError } from '../errors.ts'
import { DEADLINE_CHECK_MS, QUERY_MS_MAX } from '../execute/limits.ts'
import { Abandoned, tooManyLists } from '../execute/listReads.ts'
import type { Version } from '../memory/questionQueue.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import { countDatabaseSummary, countSummary } from '../metrics/counts.ts'
import type { Entity } from '../model/entity.ts'
import { parentRowOf } from '../model/listCost.ts'
import { isOfOtherRows } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { GROUPS_MAX, type SummaryQuery } from '../model/summary.ts'
import type { View } from '../model/view.ts'
import { Deadlines } from '../os/time.ts'
import type { StreamForm } from '../parse/headers.ts'
import { parseSummary } from '../parse/summary.ts'
import type { Reply } from '../respond/reply.ts'
import { streamHeaders } from '../respond/stream.ts'
import { respondSummary, summaryWriter } from '../respond/summary.ts'
import { withFewIds } from './fewIds.ts'
import { type Reason, tablesOf, targetOf, withAdvice, withReach } from './lists.ts'
import { type NeededCopies, neededCopies } from './neededCopies.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import { replyStreamed, requireSameRights, textsOf, whileAllowed } from './streams.ts'

/** Deadlines of summaries that wait for other summaries. */
const deadlines = new Deadlines(QUERY_MS_MAX, DEADLINE_CHECK_MS)

/** Returns a page of groups. @throws ApiError */
export async function pageSummary(view: View, parts: ResourceParts, call: ResourceRequest): Promise<Reply> {
  const { memory } = parts
  const parse = () => parseSummary(view, call.query, 'json', call.access)
  if (memory === null) return pageFromDatabase(view, parts, call, parse(), 'noCopy')
  const plainTarget = targetOf(view, call)
  // As in `pageList`, the query is parsed before the database is asked, so that its faults are reported even if the database
  // fails. A target in the cache has no faults.
  const cachedTables = memory.responses.tablesOf(plainTarget)
  const parsed = cachedTables === null ? parse() : null
  const target = withReach(plainTarget, parsed)
  const tables = cachedTables ?? tablesOfSummary(view, parsed as SummaryQuery)
  const copies = neededCopies(memory, tables, call.moment ?? null)
  if (copies === null) return pageFromDatabase(view, parts, call, parsed ?? parse(), 'noCopy')
  await copies.refresh()
  const cached = memory.responses.get(target, copies.version)
  if (cached !== null) {
    copies.requireRights()
    countSummary('kept')
    return cached
  }
  const query = parsed ?? parse()
  const reply = await withGroups(call, memory, copies, query, async (grouping, version) => {
    const rows = await memory.slices.run(call, grouping.page((query.page - 1) * query.pageSize, query.pageSize))
    const page = respondSummary(query, rows, grouping.total, call.url)
    // The page is cached only if no row has changed since the grouping began.
    if (version === copies.version) memory.responses.set(target, tables, version, page)
    return page
  })
  return typeof reply === 'string' ? pageFromDatabase(view, parts, call, query, reply) : reply
}

/** Streams all groups in their order. @throws ApiError */
export function streamSummary(view: View, parts: ResourceParts, call: ResourceRequest, form: StreamForm): Promise<Reply> {
  const { memory, summaryLimit, keysInUse } = parts
  const query = parseSummary(view, call.query, form, call.access)
  const headers = streamHeaders(`${view.plural}Summary`, form, call.request.headers)
  const requireAllowed = async () => {
    if (keysInUse) requireSameRights(await keysInUse.rightsOf(call.request), view, query.may, hasPaths(query))
  }
  return replyStreamed(call, summaryLimit, { headers, form }, async (slot) => {
    const hold = (bytes: number) => summaryLimit.hold(call.key, slot, bytes)
    const writer = summaryWriter(query, form)
    const copies = memory && neededCopies(memory, tablesOfSummary(view, query), call.moment ?? null)
    await copies?.refresh()
    const holdFound = async (found: Grouping) => holdGroups(found, hold)
    const grouping = memory && copies ? await withGroups(call, memory, copies, query, holdFound) : 'noCopy'
    if (memory === null || typeof grouping === 'string') {
      const reason = typeof grouping === 'string' ? grouping : 'noCopy'
      const { rows } = await readGroups(view, parts, call, query, null, reason)
      hold(CELL_BYTES * rows.length * (rows[0]?.length ?? 0))
      return textsOf(writer, whileAllowed([rows], requireAllowed))
    }
    return textsOf(writer, whileAllowed(batchesOf(call, memory, grouping), requireAllowed))
  })
}

function tablesOfSummary(view: View, { filters, keys, figures }: SummaryQuery): readonly Entity[] {
  return tablesOf(
    view,
    filters,
    [...keys, ...figures].map(({ property }) => property),
  )
}

/** Returns whether a summary has paths. Then it also depends on the rights to read the rows to which the paths lead. */
function hasPaths({ filters, keys, figures }: SummaryQuery): boolean {
  return filters.some(isOfOtherRows) || [...keys, ...figures].some(({ property }) => property.related !== null)
}

/** Estimated memory of one value in a group from the database, in bytes. */
const CELL_BYTES = 32

/**
 * Copies the groups to the heap, where they can be read after the grouping is closed. `hold`: reserves memory for them. @throws
 * ApiError ServiceUnavailable
 */
function holdGroups(grouping: Grouping, hold: (bytes: number) => void): Grouping {
  hold(grouping.bytes)
  return grouping.copyToHeap()
}

/**
 * Groups the rows of copies as they are at one moment, although the copies may change meanwhile. Calls `use` with the groups and
 * with the version of the copies at that moment, and returns the result of `use`. If the database must group, returns the reason.
 * @throws ApiError TooManyGroups; 503 if the summary waits too long for other summaries
 */
async function withGroups<Result>(
  call: ResourceRequest,
  memory: TableCopies,
  copies: NeededCopies,
  query: SummaryQuery,
  use: (grouping: Grouping, version: Version) => Promise<Result>,
): Promise<Result | Reason> {
  const permit = memory.summaries.take(call.key)
  const release = await deadlines.race(permit, tooManyLists).catch((error) => {
    permit.then((end) => end())
    throw error
  })
  let grouping: Grouping | null = null
  try {
    if (call.request.signal.aborted) throw new Abandoned()
    const prepare = (table: ColumnTable) => table.prepareGroups(query, call, copies.tables)
    const wait = (attempt: number) => copies.waitFor(prepare, attempt)
    for (let attempt = 1, waiting = wait(attempt); waiting; waiting = wait(++attempt)) await waiting
    // The wait has ended in this turn of the event loop, so this is the version of the rows that are grouped.
    const { version } = copies
    if (version === null) return copies.reason
    copies.requireRights()
    const begun = copies.table.group(query, copies.tables)
    if (typeof begun === 'string') return begun
    grouping = begun
    await memory.slices.run(call, grouping.steps())
    countSummary('memory')
    return await use(grouping, version)
  } catch (error) {
    if (error instanceof KernelFull) return 'index'
    throw error instanceof TooManyGroups ? tooManyGroups() : error
  } finally {
    grouping?.close()
    release()
  }
}

async function pageFromDatabase(view: View, parts: ResourceParts, call: ResourceRequest, query: SummaryQuery, reason: Reason) {
  const { page, pageSize } = query
  const slice = { offset: (page - 1) * pageSize, size: pageSize }
  const { total, rows } = await readGroups(view, parts, call, query, slice, reason)
  return respondSummary(query, rows, total, call.url)
}

/** Reads groups from the database. `page`: null for all groups. `reason`: why memory does not answer. */
async function readGroups(
  view: View,
  { memory, listReads, database }: ResourceParts,
  call: ResourceRequest,
  query: SummaryQuery,
  page: { readonly offset: number; readonly size: number } | null,
  reason: Reason,
) {
  for (const table of tablesOfSummary(view, query)) memory?.load(table)
  countDatabaseSummary(reason)
  const statement = compileSummary(view.whole, await withFewIds(query, view.whole, database), page)
  const parentRow = parentRowOf(query.filters)
  const found = await listReads
    .read(statement, call, { parentRow, isCostly: true })
    .catch(withAdvice(() => 'filter by a range that few rows match'))
  const total = Number(found[0]?.[0] ?? 0)
  if (total > GROUPS_MAX) throw tooManyGroups()
  // For a page without groups, the statement returns one row without a count.
  const groups = found.filter((row) => row[1 + query.keys.length] !== null).map((row) => row.slice(1))
  return { total, rows: withZonedStarts(query, groups) }
}

/** Number of groups of a stream that are sorted in one step. Each step scans all groups. */
const BATCH_GROUPS = 4_000

function* batchesOf(call: ResourceRequest, memory: TableCopies, grouping: Grouping): Generator<Promise<Row[]>> {
  for (let offset = 0; offset < grouping.total; offset += BATCH_GROUPS)
    yield memory.slices.run(call, grouping.page(offset, BATCH_GROUPS))
}

function tooManyGroups(): ApiError {
  const message = `A summary has up to ${GROUPS_MAX.toLocaleString('en')} groups, and this one would have more: filter rows, or group by fewer properties or by longer periods.`
  return new ApiError('TooManyGroups', message, { target: 'groupBy' })
}
