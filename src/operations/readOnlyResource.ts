// The operations that read an entity or a named view: lists, summaries, single rows. Spec 4.1.
import { type Conditions, hasWeakly } from '../model/entityTag.ts'
import type { Collection } from '../model/namedView.ts'
import { formOf, parseConditions } from '../parse/headers.ts'
import { parseRowFields } from '../parse/parameters.ts'
import { rowWriter } from '../respond/json.ts'
import { type Reply, respondRow, respondUnchanged } from '../respond/reply.ts'
import { pageList, requireAnyVersion, unlessHeld } from './lists.ts'
import { type ResourceParts, type ResourceRequest, viewFor } from './resourceRequest.ts'
import { RowReads } from './rowReads.ts'
import { streamList } from './streams.ts'
import { pageSummary, streamSummary } from './summaries.ts'

export class ReadOnlyResource {
  protected readonly reads: RowReads

  constructor(
    collection: Collection,
    protected readonly parts: ResourceParts,
  ) {
    this.reads = new RowReads(collection, parts.database)
  }

  summary(call: ResourceRequest): Promise<Reply> {
    return this.pageOrStream(call, pageSummary, streamSummary)
  }

  list(call: ResourceRequest): Promise<Reply> {
    return this.pageOrStream(call, pageList, streamList)
  }

  async get(call: ResourceRequest): Promise<Reply> {
    const view = viewFor(call)
    const choice = parseRowFields(view, call.query)
    const id = this.reads.parseId(call.id)
    const conditions = parseConditions(call.request.headers)
    const related = choice?.related ?? []
    const row = await this.reads.find(id, view.filters, related)
    const tag = this.reads.tagOf(row)
    if (related.length > 0) return this.respondRelated(id, tag, rowWriter(view, choice)(this.reads.valuesOf(row)), conditions)
    if (conditions !== null && this.reads.isHeld(conditions, id, tag)) return respondUnchanged(tag)
    return respondRow(200, rowWriter(view, choice)(row), tag)
  }

  /**
   * Answers with a row that shows values of other rows. The tag changes with these values. It is weak, because it is no version
   * that a write could require by `If-Match`. RFC 9110, 8.8.1
   */
  private respondRelated(id: string, tag: string, body: string, conditions: Conditions | null): Reply {
    const shown = `${tag}-${Bun.hash(body).toString(36)}`
    const ETag = `W/"${shown}"`
    const ifNoneMatch = conditions?.ifNoneMatch ?? null
    if (conditions !== null) this.reads.isHeld({ ...conditions, ifNoneMatch: null }, id, tag)
    const reply = ifNoneMatch !== null && hasWeakly(ifNoneMatch, shown) ? respondUnchanged(shown) : respondRow(200, body, shown)
    return { ...reply, headers: { ...reply.headers, ETag } }
  }

  /** Answers with a page or a stream, as the `Accept` header asks. @throws ApiError */
  private pageOrStream(call: ResourceRequest, page: typeof pageList, stream: typeof streamList): Promise<Reply> {
    const { parts } = this
    const view = viewFor(call)
    const { headers } = call.request
    const conditions = parseConditions(headers)
    const form = formOf(headers.get('accept'))
    if (form === 'json') return conditions === null ? page(view, parts, call) : unlessHeld(page(view, parts, call), conditions)
    if (conditions !== null) requireAnyVersion(conditions)
    return stream(view, parts, call, form)
  }
}
