// The operations on one entity, each as visible steps: parse, plan, execute, respond. Operations that only read are in
// readOnlyResource.ts. Spec 4.1.
import { ApiError } from '../errors.ts'
import type { UpdateAccess, Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { parseComplete, parseNewRow, parsePartial } from '../parse/assignments.ts'
import { readBodies, readBody, UnparsedRows } from '../parse/body.ts'
import { parseCreateParameters, parseNoParameters } from '../parse/parameters.ts'
import { writeWritten } from '../respond/json.ts'
import { type Reply, respondEmpty, respondRow } from '../respond/reply.ts'
import { BulkCreates } from './bulkCreates.ts'
import { FilteredWrites, parseWhere, requireValues } from './filteredWrites.ts'
import { Idempotency, type Written, withReplayed } from './idempotency.ts'
import { requireList } from './lists.ts'
import { ReadOnlyResource } from './readOnlyResource.ts'
import { accessFor, type ResourceParts, type ResourceRequest, requireRight } from './resourceRequest.ts'
import { RowWrites } from './rowWrites.ts'
import { Upserts } from './upserts.ts'
import { UpsertWrites } from './upsertWrites.ts'

/**
 * Time for which a request keeps the rights that it began with. It is less than the second for which a revoked key may still be
 * used.
 */
const RIGHTS_MS_MAX = 500

export class Resource extends ReadOnlyResource {
  private readonly idempotency: Idempotency
  private readonly writes: RowWrites
  private readonly bulkCreates: BulkCreates
  private readonly filteredWrites: FilteredWrites
  private readonly upserts: Upserts

  constructor(
    private readonly entity: Entity,
    entities: readonly Entity[],
    parts: ResourceParts,
  ) {
    super(entity, parts)
    this.idempotency = new Idempotency(entity, parts.database)
    this.writes = new RowWrites(entity, entities, this.reads, this.idempotency, parts)
    this.bulkCreates = new BulkCreates(entity, this.idempotency, this.writes, parts)
    this.filteredWrites = new FilteredWrites(entity, this.idempotency, this.writes, parts)
    const upsertWrites = new UpsertWrites(entity, this.writes, this.idempotency, parts)
    this.upserts = new Upserts(entity, this.idempotency, this.writes, upsertWrites, parts)
  }

  async create(begun: ResourceRequest): Promise<Reply> {
    const { isDry, match } = parseCreateParameters(begun.query)
    const startMs = performance.now()
    const body = await readBodies(begun.request)
    const call = this.isOutdated(begun, startMs) ? await this.withPresentRights(begun, 'create') : begun
    if (match !== null) return this.upserts.write(call, body, match, isDry)
    if (body instanceof UnparsedRows) return this.bulkCreates.create(call, body, isDry)
    const { sent, values, right } = parseNewRow(this.entity, accessFor(call, 'create'), body)
    requireList(call.request.headers)
    if (isDry) return this.bulkCreates.check(call, [values], right, (_, fault) => fault)
    const claim = this.idempotency.claim(call, '', sent)
    using _inProgress = this.idempotency.begin(claim)
    const written = await this.writes.create(call, values, right, claim)
    const [row] = written.rows as [Row]
    return this.respondWritten(201, call, written, row, `${call.url.replace(/\/$/, '')}/${row[0]}`)
  }

  async remove(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.reads.parseId(call.id)
    const claim = this.idempotency.claim(call, id, null)
    using _inProgress = this.idempotency.begin(claim)
    const written = await this.writes.remove(call, id, claim)
    return withReplayed(written, respondEmpty())
  }

  /** Updates a row. `parse` decides whether the body must have all properties. */
  async update(begun: ResourceRequest, parse: typeof parseComplete): Promise<Reply> {
    this.requireComplete(begun, parse)
    parseNoParameters(begun.query)
    const id = this.reads.parseId(begun.id)
    const startMs = performance.now()
    const body = await readBody(begun.request)
    const call = this.isOutdated(begun, startMs) ? await this.withPresentRights(begun, 'update') : begun
    const values = parse(this.entity, this.requireComplete(call, parse), body)
    const claim = this.idempotency.claim(call, id, values)
    using _inProgress = this.idempotency.begin(claim)
    const written = await this.writes.update(call, id, values, claim)
    const [row] = written.rows as [Row]
    return this.respondWritten(200, call, written, this.writes.withOwnCopies(row))
  }

  /** Updates all rows that match filters. D113 */
  async updateWhere(begun: ResourceRequest): Promise<Reply> {
    parseWhere(this.entity, begun, 'update')
    const startMs = performance.now()
    const body = await readBody(begun.request)
    const call = this.isOutdated(begun, startMs) ? await this.withPresentRights(begun, 'update') : begun
    const rows = parseWhere(this.entity, call, 'update')
    const values = parsePartial(this.entity, accessFor(call, 'update'), body)
    requireValues(values)
    return this.filteredWrites.update(call, rows, values)
  }

  /** Deletes all rows that match filters. D113 */
  async removeWhere(call: ResourceRequest): Promise<Reply> {
    return this.filteredWrites.remove(call, parseWhere(this.entity, call, 'delete'))
  }

  /** Returns what the key may update. @throws ApiError Forbidden for a PUT, if the key may not set every property */
  private requireComplete(call: ResourceRequest, parse: typeof parseComplete): UpdateAccess {
    const access = accessFor(call, 'update')
    if (parse === parseComplete && !access.isComplete) throw incompleteRight(this.entity)
    return access
  }

  /** Returns whether the key may have lost rights since `startMs`, because the body of the request came slowly. */
  private isOutdated({ request }: ResourceRequest, startMs: number): boolean {
    // Requests that APP_FILE makes carry no key. Their rights were checked when they were sent, and their body is in memory.
    return performance.now() - startMs > RIGHTS_MS_MAX && request.headers.has('authorization')
  }

  /** Returns the request with the present rights of its key. @throws ApiError if the key may no longer do this */
  private async withPresentRights(begun: ResourceRequest, verb: Verb): Promise<ResourceRequest> {
    const { keysInUse } = this.parts
    if (!keysInUse) return begun
    const rights = await keysInUse.rightsOf(begun.request)
    return { ...begun, rights, access: requireRight(rights, this.entity, verb) }
  }

  /** Answers with the row as the key reads it. If the key may not read the row, the answer has only the row's id. */
  private respondWritten(
    status: number,
    { access }: ResourceRequest,
    written: Written,
    row: Row,
    location?: string,
  ): Reply | Promise<Reply> {
    const views = this.writes.viewsOf(written, access?.read ?? null)
    const respond = ([view = null]: readonly (View | null)[]) =>
      withReplayed(written, respondRow(status, writeWritten(view, row), this.reads.tagOf(row), location))
    return views instanceof Promise ? views.then(respond) : respond(views)
  }
}

/** Returns the error of a PUT that would clear properties which the key may not set. */
function incompleteRight({ plural }: Entity): ApiError {
  const message = `You have no right to set all properties of ${plural}, which PUT does; change those that you may set by PATCH.`
  return new ApiError('Forbidden', message)
}
