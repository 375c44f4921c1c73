import type { Grouping } from '../columns/grouping.ts'
import { TooManyGroups } from '../columns/groupKeys.ts'
import { KernelFull } from '../columns/kernel.ts'
import { compileSummary } from '../compile/summary.ts'
import { ApiError } from '../errors.ts'
import { Abandoned, type ListReads, TooCostly } from '../execute/listReads.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import { countFrom } from '../metrics/counts.ts'
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { GROUPS_MAX, type SummaryQuery } from '../model/summary.ts'
import { formOf, parseConditions, type StreamForm } from '../parse/headers.ts'
import { parseSummary } from '../parse/summary.ts'
import type { Reply } from '../respond/reply.ts'
import { streamHeaders } from '../respond/stream.ts'
import { respondSummary, summaryWriter } from '../respond/summary.ts'
import { requireAnyVersion, unlessHeld } from './lists.ts'
import type { Places } from './places.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import { replyStreamed, textsOf } from './streams.ts'

const countSummary = countFrom('summaries')

/** Summaries of one entity's rows: parse, group, respond. D76 */
export class Summaries {
  private readonly reads: ListReads
  private readonly memory: TableCopies | null

  constructor(
    private readonly entity: Entity,
    private readonly places: Places,
    { listReads, memory }: ResourceParts,
  ) {
    this.reads = listReads
    this.memory = memory
  }

  /** @throws ApiError */
  read(call: ResourceRequest): Promise<Reply> {
    const { headers } = call.request
    const conditions = parseConditions(headers)
    const form = formOf(headers.get('accept'))
    if (form === 'json') return conditions === null ? this.page(call) : unlessHeld(this.page(call), conditions)
    if (conditions !== null) requireAnyVersion(conditions)
    return this.stream(call, form)
  }

  private async page(call: ResourceRequest): Promise<Reply> {
    const { query: text, url } = call
    const copy = this.memory?.of(this.entity) ?? null
    const parse = () => parseSummary(this.entity, text, 'json')
    if (copy === null) return this.pageFromDatabase(call, parse())
    const { kept, query } = await (this.memory as TableCopies).answers.find(`${url}?${text}`, copy, parse)
    if (kept === null) return this.pageFromCopy(call, copy, query)
    countSummary('kept')
    return kept
  }

  private async pageFromCopy(call: ResourceRequest, copy: TableCopy, query: SummaryQuery): Promise<Reply> {
    const memory = this.memory as TableCopies
    const reply = await this.grouped(call, copy, query, async (grouping) => {
      const { page, pageSize } = query
      const rows = await memory.run(call, grouping.page((page - 1) * pageSize, pageSize))
      const answer = respondSummary(query, rows, grouping.total, call.url)
      return memory.answers.keep(`${call.url}?${call.query}`, copy, answer)
    })
    return reply ?? this.pageFromDatabase(call, query)
  }

  /**
   * Groups the rows of the copy, which stays as it is until `use` of the groups has ended; null: the database has to group.
   * @throws ApiError TooManyGroups
   */
  private async grouped<Result>(
    call: ResourceRequest,
    copy: TableCopy,
    query: SummaryQuery,
    use: (grouping: Grouping) => Promise<Result>,
  ): Promise<Result | null> {
    await copy.search?.prepareGroups(query)
    return copy.alone(call.key, async () => {
      if (call.request.signal.aborted) throw new Abandoned()
      const grouping = copy.search?.group(query)
      if (!grouping) return null
      try {
        await (this.memory as TableCopies).run(call, grouping.steps())
        countSummary('memory')
        return await use(grouping)
      } catch (error) {
        if (error instanceof KernelFull) return null
        throw error instanceof TooManyGroups ? tooManyGroups() : error
      } finally {
        grouping.close()
      }
    })
  }

  private async pageFromDatabase(call: ResourceRequest, query: SummaryQuery): Promise<Reply> {
    const { page, pageSize } = query
    const { total, rows } = await this.readGroups(call, query, { offset: (page - 1) * pageSize, size: pageSize })
    return respondSummary(query, rows, total, call.url)
  }

  /** `page`: null for all groups. */
  private async readGroups(call: ResourceRequest, query: SummaryQuery, page: { offset: number; size: number } | null) {
    this.memory?.load(this.entity, { filters: query.filters, sorts: [] })
    countSummary('database')
    try {
      const found = await this.reads.read(compileSummary(this.entity, query, page), call)
      const total = Number(found[0]?.[0] ?? 0)
      if (total > GROUPS_MAX) throw tooManyGroups()
      // Behind the last group there is one row without a count.
      const rows = found.filter((row) => row[1 + query.keys.length] !== null).map((row) => row.slice(1))
      return { total, rows }
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
      throw new ApiError(error.code, `${error.message} To get it: filter by a range that few rows match.`, { cause: error.cause })
    }
  }

  private stream(call: ResourceRequest, form: StreamForm): Promise<Reply> {
    const query = parseSummary(this.entity, call.query, form)
    const headers = streamHeaders(`${this.entity.plural}Summary`, form, call.request.headers)
    return replyStreamed(call, this.places, { headers, form }, async () =>
      textsOfAll(query, form, await this.allGroups(call, query)),
    )
  }

  /** All groups in their order, some at a time. */
  private async allGroups(call: ResourceRequest, query: SummaryQuery): Promise<AsyncIterable<readonly Row[]>> {
    const copy = this.memory?.of(this.entity) ?? null
    await copy?.refresh()
    const taken = async (found: Grouping) => found.leave()
    const grouping = copy && (await this.grouped(call, copy, query, taken))
    if (grouping) return this.pagesOf(call, grouping)
    const { rows } = await this.readGroups(call, query, null)
    return piecesOf(rows)
  }

  private async *pagesOf(call: ResourceRequest, grouping: Grouping): AsyncGenerator<readonly Row[]> {
    for (let offset = 0; offset < grouping.total; offset += PIECE_GROUPS)
      yield await (this.memory as TableCopies).run(call, grouping.page(offset, PIECE_GROUPS))
  }
}

/** Groups of a stream that are sorted together: each time, all are looked at. */
const PIECE_GROUPS = 4_000

async function* piecesOf(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows
}

async function* textsOfAll(query: SummaryQuery, form: StreamForm, groups: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  const { begin, write } = summaryWriter(query, form)
  if (begin !== '') yield begin
  for await (const rows of groups) yield* textsOf(rows, write)
}

function tooManyGroups(): ApiError {
  const message = `A summary has up to ${GROUPS_MAX.toLocaleString('en')} groups, and this one would have more: filter rows, or group by fewer properties or by longer periods.`
  return new ApiError('TooManyGroups', message, { target: 'groupBy' })
}
