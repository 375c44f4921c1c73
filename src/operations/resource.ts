import { type CacheAccess, CachedLists } from '../cache/cachedLists.ts'
import { DatabaseLists } from '../cache/databaseLists.ts'
import { ReadFence } from '../changes/readFence.ts'
import { tableMask, WriteRecorder } from '../changes/recorder.ts'
import { compileCreate, compileGet, compileUpdate } from '../compile/entity.ts'
import { compileRemove } from '../compile/remove.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { LONG_WRITE_MS_MAX, type LongWrites } from '../execute/longWrites.ts'
import { ConstraintViolation } from '../execute/sqlstate.ts'
import {
  copiedEntities,
  copiedProperties,
  copyingColumns,
  ownCopiesOf,
  type ReferringColumn,
  referringColumns,
} from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { shown } from '../model/shown.ts'
import type { Row } from '../model/sql.ts'
import { parseComplete, parsePartial } from '../parse/assignments.ts'
import { readBody } from '../parse/body.ts'
import { parseId } from '../parse/id.ts'
import { parseNoParameters } from '../parse/noParameters.ts'
import { writeEntity } from '../respond/json.ts'
import { type Reply, respondEmpty, respondJson } from '../respond/reply.ts'
import { Lists } from './lists.ts'
import type { ResourceParts } from './resourceParts.ts'
import { RowWrites } from './rowWrites.ts'

/** A request whose path is understood. */
export interface ResourceRequest {
  readonly request: Request
  /** The path as the client wrote it, behind the server's address. */
  readonly url: string
  /** Without `?`. */
  readonly query: string
  /** The path segment behind the collection's. */
  readonly id: string
  /** Not there: the connection stays open for however long the answer takes. */
  readonly server?: { timeout(request: Request, seconds: number): void } | null | undefined
  /** Whether its key may read the entity; where not, no answer holds more of a row than its id. */
  readonly mayRead: boolean
  /** The id of its key. */
  readonly key: string
}

/** The operations on one entity, each as visible steps. Spec 4.1. */
export class Resource {
  /** What rows of any entity copy from this one. */
  private readonly copied: readonly Property[]
  private readonly copying: readonly ReferringColumn[]
  /** Where rows of any entity refer to this one's. */
  private readonly referring: readonly ReferringColumn[]
  /** Whether what is copied is what clients write, and no text that is computed. */
  private readonly isNameWritten: boolean
  /** Where a row has references to rows of its own table, what is copied from those, and what that is a copy of. */
  private readonly ownCopies: readonly { reference: number; copy: number; source: number }[]
  private readonly lists: Lists
  /** Null, as `access`: there is no list cache. */
  private readonly writes: WriteRecorder | null
  private readonly access: CacheAccess | null
  /** The bits of the tables that this entity's rows copy from. */
  private readonly copiedMask: number

  private readonly rows: RowWrites
  private readonly database: Database
  private readonly longWrites: LongWrites | null

  constructor(
    readonly entity: Entity,
    entities: readonly Entity[],
    { database, listReads, longWrites, cursors, memory }: ResourceParts,
  ) {
    this.database = database
    this.longWrites = longWrites
    this.copied = copiedProperties(entity, entities)
    this.copying = copyingColumns(entity, entities)
    this.referring = referringColumns(entity, entities)
    this.rows = new RowWrites(entity, database, (id) => this.absent(id))
    this.isNameWritten = this.copied.every(({ writable }) => writable)
    this.ownCopies = ownCopiesOf(entity)
    this.writes = memory && new WriteRecorder(entity, entities, memory.publisher, memory.flags)
    this.copiedMask = tableMask(entities, copiedEntities(entity, entities))
    this.access = memory && {
      cache: memory.cache,
      fence: new ReadFence(database, memory.inFlight),
      tableMask: tableMask(entities, [entity]),
    }
    const source = this.access ? new CachedLists(entity, listReads, this.access) : new DatabaseLists(entity, listReads)
    this.lists = new Lists(entity, cursors, source)
  }

  list(call: ResourceRequest): Promise<Reply> | Reply {
    return this.lists.read(call.query, call.url, call)
  }

  async get({ id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    return respondJson(200, writeEntity(this.entity, await this.find(this.parseId(segment))))
  }

  async create({ request, url, query, mayRead }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const assignments = parseComplete(this.entity, await readBody(request))
    const row = await this.rows.write(compileCreate(this.entity, assignments), null, assignments, this.writes?.create)
    const location = `${url.replace(/\/$/, '')}/${row[0]}`
    return respondJson(201, this.bodyOf(row, mayRead), { Location: location })
  }

  async replace(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.parseId(call.id)
    return this.update(call, id, parseComplete(this.entity, await readBody(call.request)))
  }

  async patch(call: ResourceRequest): Promise<Reply> {
    parseNoParameters(call.query)
    const id = this.parseId(call.id)
    return this.update(call, id, parsePartial(this.entity, await readBody(call.request)))
  }

  async remove({ id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const id = this.parseId(segment)
    const statement = compileRemove(this.entity, id, this.referring)
    const rows = await this.database.write(statement, this.writes?.remove).catch((error) => {
      throw error instanceof ConstraintViolation && error.kind === 'foreignKey' ? this.stillReferenced(id) : error
    })
    if (rows.length > 0) return respondEmpty()
    await this.find(id)
    throw this.stillReferenced(id)
  }

  private async update(call: ResourceRequest, id: string, assignments: Assignments): Promise<Reply> {
    if (assignments.size === 0) return respondJson(200, this.bodyOf(await this.find(id), call.mayRead))
    const row = this.renames(assignments)
      ? await this.rename(call, id, assignments)
      : await this.rows.write(compileUpdate(this.entity, id, assignments), id, assignments, this.writes?.update)
    // What it has found, another write may have left.
    await this.published(row, 2 * this.entity.properties.length + 1)
    return respondJson(200, this.bodyOf(this.withOwnCopies(row), call.mayRead))
  }

  /** What a write answers: the row, or its id alone. */
  private bodyOf(row: Row, mayRead: boolean): string {
    return mayRead ? writeEntity(this.entity, row) : `{"id":${row[0]}}`
  }

  /**
   * Takes all copies along. A few are written together with those of others; many by themselves; and where they are very
   * many, one such rename at a time. Each is tried first as if there were no more.
   */
  private async rename({ request, server }: ResourceRequest, id: string, assignments: Assignments): Promise<Row> {
    const observe = this.writes?.rename
    const whole = compileUpdate(this.entity, id, assignments)
    if (this.longWrites === null) return this.rows.write(whole, id, assignments, observe)
    const few = compileUpdate(this.entity, id, assignments, this.copying)
    const alone = { text: few.text, values: few.values }
    // A computed text may or may not change, and a batch would be given up for one with many copies.
    const [first] = await this.rows.attempt(this.isNameWritten ? few : alone, assignments, observe)
    if (first) return first
    await this.rows.refuse(id, assignments)
    const [again] = this.isNameWritten ? await this.rows.attempt(alone, assignments, observe) : []
    if (again) return again
    server?.timeout(request, LONG_WRITE_MS_MAX / 1_000)
    return this.rows.write(whole, id, assignments, observe, this.longWrites)
  }

  /** Whether the assignments may reach rows that copy from this one. */
  private renames(assignments: Assignments): boolean {
    const isChanged = (column: string) => [...assignments.keys()].some((property) => property.column === column)
    return this.copied.some((property) =>
      property.writable ? assignments.has(property) : property.computedFrom.some(isChanged),
    )
  }

  /** A row that refers to itself gets its copies behind the statement that has returned it: of what it has now. */
  private withOwnCopies(row: Row): Row {
    let whole = row
    for (const { reference, copy, source } of this.ownCopies)
      if (row[reference] === row[0]) whole = whole.with(copy, row[source] as string | null)
    return whole
  }

  private async find(id: string): Promise<Row> {
    const [row] = await this.database.read(compileGet(this.entity, id))
    if (!row) throw await this.absent(id)
    const published = this.published(row, this.entity.properties.length)
    if (published !== true) await published
    return row
  }

  /** Until no list from memory can be without what the row shows. `version`: where its transaction stands in the row. */
  private published(row: Row, version: number): Promise<unknown> | true {
    if (this.access === null) return true
    const { fence, tableMask } = this.access
    return fence.row(tableMask, this.copiedMask, row[version] as string)
  }

  /** A row that another write has deleted must not come back in a list. */
  private async absent(id: string): Promise<ApiError> {
    await this.access?.fence.rows(this.access.tableMask, null)
    return this.notFound(id)
  }

  private parseId(segment: string): string {
    const id = parseId(segment)
    if (id === null) throw this.notFound(shown(segment))
    return id
  }

  private notFound(id: string): ApiError {
    return new ApiError('NotFound', `There is no ${this.entity.name} with id ${id}.`)
  }

  private stillReferenced(id: string): ApiError {
    const message = `${this.entity.name} ${id} was not deleted: other rows refer to it.`
    return new ApiError('StillReferenced', message)
  }
}
