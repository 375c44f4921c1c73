import { compileCreate, compileGet, compileMissingReferences, compileRemove, compileUpdate } from './compile/entity.ts'
import { ApiError, type Fault, faultsError } from './errors.ts'
import type { Database } from './execute/database.ts'
import { ConstraintViolation } from './execute/sqlstate.ts'
import { Lists } from './lists.ts'
import type { Cursors } from './model/cursor.ts'
import { copiedProperties, type Entity, type Property } from './model/entity.ts'
import type { Changes } from './model/query.ts'
import type { Row, Statement } from './model/sql.ts'
import { readBody } from './parse/body.ts'
import { parseComplete, parsePartial } from './parse/changes.ts'
import { parseId } from './parse/id.ts'
import { parseNoParameters } from './parse/noParameters.ts'
import { writeEntity } from './respond/json.ts'
import { type Reply, respondEmpty, respondJson } from './respond/reply.ts'
import type { MarkWriter } from './share/marks.ts'
import type { Announcer } from './views/changes.ts'
import type { Views } from './views/views.ts'
import { tableBits, Writes } from './views/writes.ts'

/** A request whose path is understood. */
export interface ResourceRequest {
  readonly request: Request
  /** The path as the client wrote it, behind the server's address. */
  readonly url: string
  /** Without `?`. */
  readonly query: string
  /** The path segment behind the collection's. */
  readonly id: string
}

/** What the processes of this machine know and tell of lists. */
export interface Memory {
  readonly views: Views<Reply>
  readonly announcer: Announcer
  readonly marks: MarkWriter
}

/** The operations on one entity, each as visible steps. Spec 4.1. */
export class Resource {
  /** What rows of any entity copy from this one. */
  private readonly copied: readonly Property[]
  private readonly lists: Lists
  /** Null: nobody has to be told. */
  private readonly writes: Writes | null

  constructor(
    readonly entity: Entity,
    private readonly database: Database,
    entities: readonly Entity[],
    cursors: Cursors,
    memory: Memory | null = null,
  ) {
    this.copied = copiedProperties(entity, entities)
    this.writes = memory && new Writes(entity, entities, memory.announcer, memory.marks)
    this.lists = new Lists(
      entity,
      database,
      cursors,
      memory && { views: memory.views, tables: tableBits(entities, [entity]) },
    )
  }

  list({ query, url }: ResourceRequest): Promise<Reply> | Reply {
    return this.lists.read(query, url)
  }

  async get({ id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    return respondJson(200, writeEntity(this.entity, await this.find(this.parseId(segment))))
  }

  async create({ request, url, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const changes = parseComplete(this.entity, await readBody(request))
    const [row] = await this.write({ ...compileCreate(this.entity, changes), watch: this.writes?.create }, changes)
    const location = `${url.replace(/\/$/, '')}/${row?.[0]}`
    return respondJson(201, writeEntity(this.entity, row as Row), { Location: location })
  }

  async replace({ request, id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const id = this.parseId(segment)
    return this.update(id, parseComplete(this.entity, await readBody(request)))
  }

  async patch({ request, id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const id = this.parseId(segment)
    return this.update(id, parsePartial(this.entity, await readBody(request)))
  }

  async remove({ id: segment, query }: ResourceRequest): Promise<Reply> {
    parseNoParameters(query)
    const id = this.parseId(segment)
    const statement = { ...compileRemove(this.entity, id), watch: this.writes?.remove }
    const rows = await this.database.write(statement).catch((error) => {
      throw error instanceof ConstraintViolation && error.kind === 'foreignKey' ? this.stillReferenced(id) : error
    })
    if (rows.length === 0) throw this.notFound(id)
    return respondEmpty()
  }

  private async update(id: string, changes: Changes): Promise<Reply> {
    if (changes.size === 0) return respondJson(200, writeEntity(this.entity, await this.find(id)))
    const statement = { ...compileUpdate(this.entity, id, changes), watch: this.writes?.update }
    // A rename takes all its copies along; others must not wait for it.
    const [row] = await this.write(this.renames(changes) ? { ...statement, batch: null } : statement, changes)
    if (!row) throw this.notFound(id)
    // A row that copies from itself gets its copy after the statement has returned it.
    const current = this.refersToItself(row) ? await this.find(id) : row
    return respondJson(200, writeEntity(this.entity, current))
  }

  /** Runs a write; what the table's constraints refuse becomes the error that explains it. */
  private write(statement: Statement, changes: Changes): Promise<Row[]> {
    return this.database.write(statement).catch(async (error) => {
      throw error instanceof ConstraintViolation ? await this.explain(error, changes) : error
    })
  }

  private async explain(violation: ConstraintViolation, changes: Changes): Promise<ApiError> {
    const rule = this.entity.rules.find(({ constraint }) => constraint === violation.constraint)
    if (rule) {
      const [target, message] = [rule.later.name, `${rule.later.name} must not be before ${rule.earlier.name}.`]
      return faultsError([{ code: 'InvalidValue', target, message }])
    }
    const statement = compileMissingReferences(changes)
    const missing = statement ? await this.database.read(statement) : []
    const faults = missing.map(([column]) => this.missingReference(column as string, changes))
    return faults.length > 0 ? faultsError(faults as [Fault, ...Fault[]]) : conflict(violation)
  }

  private missingReference(column: string, changes: Changes): Fault {
    const [property, value] = [...changes].find(([candidate]) => candidate.column === column) ?? []
    const message = `${property?.name} names no ${property?.reference?.entity}${value === '0' ? '' : `: there is none with id ${value}`}.`
    return { code: 'ReferenceNotFound', target: property?.name ?? 'Body', message }
  }

  /** Whether the changes may reach rows that copy from this one; what is computed may depend on any property. */
  private renames(changes: Changes): boolean {
    return this.copied.some((property) => !property.writable || changes.has(property))
  }

  private refersToItself(row: Row): boolean {
    const { properties, table } = this.entity
    return properties.some((property, index) => property.reference?.table === table && row[index] === row[0])
  }

  private async find(id: string): Promise<Row> {
    const [row] = await this.database.read(compileGet(this.entity, id))
    if (!row) throw this.notFound(id)
    return row
  }

  private parseId(segment: string): string {
    const id = parseId(segment)
    if (id === null) throw this.notFound(segment.slice(0, 100))
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

function conflict(cause: ConstraintViolation): ApiError {
  return new ApiError('Conflict', 'The write does not agree with what is stored; nothing was written.', { cause })
}
