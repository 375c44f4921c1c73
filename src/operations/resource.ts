import { compileCreate, compileUpdate } from '../compile/entity.ts'
import { LONG_WRITE_MS_MAX, type LongWrites } from '../execute/longWrites.ts'
import type { Once } from '../model/batch.ts'
import { type ReferringColumn, referringColumns } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { planWrite } from '../model/writePlan.ts'
import { parseComplete, parsePartial } from '../parse/assignments.ts'
import { RowsText, readBodies, readBody } from '../parse/body.ts'
import { formOf, parseConditions } from '../parse/headers.ts'
import { parseDryRun, parseNoParameters, parseRowFields } from '../parse/ownParameters.ts'
import { choiceWriter, writeEntity, writeWritten } from '../respond/json.ts'
import { type Reply, respondEmpty, respondRow, respondUnchanged } from '../respond/reply.ts'
import { Lists, requireAnyVersion, requireList, unlessHeld } from './lists.ts'
import { BODIES, Places, STREAMS } from './places.ts'
import { Repeats } from './repeats.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import { RowCopies } from './rowCopies.ts'
import { RowReads } from './rowReads.ts'
import { RowsCreates } from './rowsCreates.ts'
import { RowVersions, type VersionAsked } from './rowVersions.ts'
import { type CheckedPlan, RowWrites } from './rowWrites.ts'
import { Streams } from './streams.ts'
import { Summaries } from './summaries.ts'

/** The operations on one entity, each as visible steps. Spec 4.1. */
export class Resource {
  private readonly copies: RowCopies
  /** Columns of any entity that refer to this one's rows. */
  private readonly referring: readonly ReferringColumn[]
  private readonly lists: Lists
  private readonly streams: Streams
  private readonly summaries: Summaries
  private readonly versions: RowVersions
  private readonly reads: RowReads
  private readonly repeats: Repeats
  private readonly rows: RowWrites
  private readonly many: RowsCreates
  private readonly longWrites: LongWrites | null

  constructor(
    readonly entity: Entity,
    entities: readonly Entity[],
    parts: ResourceParts,
  ) {
    const { database, listReads, longWrites, cursors, memory } = parts
    const { streamPlaces = new Places(STREAMS), bodyPlaces = new Places(BODIES) } = parts
    this.longWrites = longWrites
    this.copies = new RowCopies(entity, entities)
    this.referring = referringColumns(entity, entities)
    this.reads = new RowReads(entity, database)
    this.repeats = new Repeats(entity, database)
    this.rows = new RowWrites(entity, database, this.repeats, (id) => this.reads.notFound(id))
    this.many = new RowsCreates({ ...parts, entity, repeats: this.repeats, bodyPlaces })
    this.versions = new RowVersions(entity, this.reads)
    this.lists = new Lists(entity, cursors, listReads, memory)
    this.streams = new Streams(entity, listReads, streamPlaces, parts)
    this.summaries = new Summaries(entity, streamPlaces, parts)
  }

  summary(call: ResourceRequest): Promise<Reply> {
    return this.summaries.read(call)
  }

  list(call: ResourceRequest): Promise<Reply> | Reply {
    const { headers } = call.request
    const conditions = parseConditions(headers)
    const form = formOf(headers.get('accept'))
    if (form !== 'json') {
      if (conditions !== null) requireAnyVersion(conditions)
      return this.streams.read(call, form)
    }
    const page = this.lists.read(call.query, call.url, call)
    return conditions === null ? page : unlessHeld(page, conditions)
  }

  async get({ request, id: segment, query }: ResourceRequest): Promise<Reply> {
    const choice = parseRowFields(this.entity, query)
    const [id, conditions] = [this.reads.parseId(segment), parseConditions(request.headers)]
    const row = await this.reads.find(id)
    const tag = this.versions.tagOf(row)
    if (this.versions.isHeld(conditions, id, tag)) return respondUnchanged(tag)
    const body = choice === null ? writeEntity(this.entity, row) : choiceWriter(choice, this.entity.properties)(row, 0)
    return respondRow(200, body, tag)
  }

  async create(call: ResourceRequest): Promise<Reply> {
    const isDry = parseDryRun(call.query)
    const body = await readBodies(call.request)
    if (body instanceof RowsText) return this.many.create(call, body, isDry)
    const assignments = parseComplete(this.entity, body)
    const conditions = parseConditions(call.request.headers)
    if (conditions !== null) requireList(conditions)
    if (isDry) return this.many.check(call, [assignments], (_, fault) => fault)
    const once = this.repeats.begin(call, '', assignments)
    const plan = planOf(call, '', assignments, null, once)
    const create = () => this.rows.write(plan, compileCreate(this.entity, plan))
    return this.repeats.answer(once, create, (row) => this.created(call, row))
  }

  private created({ url, mayRead }: ResourceRequest, row: Row): Reply {
    const location = `${url.replace(/\/$/, '')}/${row[0]}`
    return respondRow(201, writeWritten(this.entity, row, mayRead), this.versions.tagOfWritten(row), location)
  }

  async replace(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.reads.parseId(call.id)
    return this.update(call, id, parseComplete(this.entity, await readBody(call.request)))
  }

  async patch(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.reads.parseId(call.id)
    return this.update(call, id, parsePartial(this.entity, await readBody(call.request)))
  }

  async remove(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.reads.parseId(call.id)
    const once = this.repeats.begin(call, id, null)
    const remove = async () => {
      const asked = await this.asked(call, id, once)
      return this.rows.remove(planOf(call, id, NOTHING, asked, once), this.referring)
    }
    return this.repeats.answer(once, remove, () => respondEmpty())
  }

  private update(call: ResourceRequest, id: string, assignments: Assignments): Promise<Reply> {
    const once = this.repeats.begin(call, id, assignments)
    const change = () => this.change(call, id, assignments, once)
    return this.repeats.answer(once, change, (row) =>
      respondRow(200, writeWritten(this.entity, row, call.mayRead), this.versions.tagOfWritten(row)),
    )
  }

  /** The row as it is now, and the transaction that wrote it. */
  private async change(call: ResourceRequest, id: string, assignments: Assignments, once: Once | null): Promise<Row> {
    const asked = await this.asked(call, id, once)
    if (assignments.size === 0) {
      if (once !== null) await this.repeats.look(once)
      return (asked ?? this.reads).find(id)
    }
    const plan = planOf(call, id, assignments, asked, once)
    const row = this.copies.reachedBy(assignments)
      ? await this.rename(call, plan)
      : await this.rows.write(plan, compileUpdate(this.entity, plan))
    return this.copies.withOwn(row)
  }

  /** A repeated request asks for a version that its first one has replaced. */
  private async asked({ request }: ResourceRequest, id: string, once: Once | null): Promise<VersionAsked | null> {
    if (once !== null && request.headers.has('if-none-match')) await this.repeats.look(once)
    return this.versions.asked(request.headers, id)
  }

  /**
   * Takes all copies along. A few are written together with those of others; many by themselves; and where they are very
   * many, one such rename at a time. Each is tried first as if there were no more.
   */
  private async rename(call: ResourceRequest, plan: CheckedPlan): Promise<Row> {
    const whole = compileUpdate(this.entity, plan)
    if (this.longWrites === null) return this.rows.write(plan, whole)
    const few = compileUpdate(this.entity, plan, this.copies.copying)
    const alone = { ...few, batch: null }
    // A computed text may or may not change, and a batch would be given up for one with many copies.
    const [first] = await this.rows.attempt(plan, this.copies.areBatched ? few : alone)
    if (first) return first
    await this.rows.refuse(plan)
    const [again] = this.copies.areBatched ? await this.rows.attempt(plan, alone) : []
    if (again) return again
    call.server?.timeout(call.request, LONG_WRITE_MS_MAX / 1_000)
    return this.rows.write(plan, whole, this.longWrites)
  }
}

const NOTHING: Assignments = new Map()

function planOf(
  { key }: ResourceRequest,
  id: string,
  values: Assignments,
  asked: VersionAsked | null,
  once: Once | null,
): CheckedPlan {
  return { ...planWrite(id, values, { versions: asked?.versions ?? null, once, asker: key }), asked }
}
