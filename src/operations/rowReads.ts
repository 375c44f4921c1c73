// Reads of rows by id, and their entity tags: the version of a row is the transaction that wrote it (`xmin`). D41
import { compileGet } from '../compile/row.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Entity, Property } from '../model/entity.ts'
import { type Conditions, type EntityTags, hasStrongly, hasWeakly } from '../model/entityTag.ts'
import { excerpt } from '../model/excerpt.ts'
import { baseOf, type Collection, isNamedView } from '../model/namedView.ts'
import type { Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { parseConditions } from '../parse/headers.ts'
import { parseId } from '../parse/parameters.ts'

/** Modulus by which PostgreSQL reduces its counter of transactions to the `xmin` of a row. */
const TRANSACTIONS = 2 ** 32
/** Pattern of an `xmin` as text. */
const VERSION = /^\d{1,10}$/

/** Version that `If-Match` or `If-None-Match` allows a row to have. */
export interface ExpectedVersion {
  /** Versions that `If-Match` allows, as an array literal of PostgreSQL; null: it allows any version. */
  readonly versions: string | null
  readonly conditions: Conditions
}

/** Reads rows of one entity or named view. Every write, of any program, gives a row a new version. */
export class RowReads {
  /**
   * Hash of the properties. Every tag begins with this hash, because even the response of an unchanged row changes if the
   * declaration changes.
   */
  private readonly tagPrefix: string
  /** The entity, or the base of the named view. Statements read the columns of this entity. */
  private readonly entity: Entity
  private readonly width: number

  constructor(
    private readonly collection: Collection,
    private readonly database: Database,
  ) {
    const properties = collection.properties.map(({ path, kind }) => `${path.join('.')} ${kind.name}`)
    this.entity = baseOf(collection)
    this.width = this.entity.properties.length
    this.tagPrefix = `${Bun.hash(properties.join()).toString(36).slice(0, 4)}-`
  }

  /** Returns the id in a path. @throws ApiError NotFound for a segment that cannot be an id */
  parseId(segment: string): string {
    const id = parseId(segment)
    if (id === null) throw this.notFound(excerpt(segment))
    return id
  }

  /** Returns a row in the form of `compileGet`, if it matches the filters. @throws ApiError NotFound */
  async find(id: string, filters: readonly Filter[] = [], related: readonly Property[] = []): Promise<Row> {
    const [row] = await this.database.read(compileGet(this.entity, id, filters, related))
    if (!row) throw this.notFound(id)
    return row
  }

  /**
   * Returns the values of a row for the JSON writers: its columns, then the columns of related properties. Leaves out the
   * version, which is between them.
   */
  valuesOf(row: Row): Row {
    return row.toSpliced(this.width, 1)
  }

  notFound(id: string): ApiError {
    const { name } = this.collection
    const row = isNamedView(this.collection) ? `row of ${name}` : name
    return new ApiError('NotFound', `There is no ${row} with id ${id}.`)
  }

  /** Returns the tag of a row, without its quotes. It is made of the transaction number after the row's columns. */
  tagOf(row: Row): string {
    return this.tagPrefix + (Number(row[this.width]) % TRANSACTIONS)
  }

  /**
   * Returns the version that a write expects the row to have; null: the row may have any version. @throws ApiError InvalidHeader
   */
  expectedVersion(headers: Headers): ExpectedVersion | null {
    const conditions = parseConditions(headers)
    return conditions && { versions: this.versionsIn(conditions.ifMatch ?? '*'), conditions }
  }

  /**
   * Requires that row `id` has the expected version. `expected`: null if the row may have any version. @throws ApiError
   * PreconditionFailed
   */
  requireExpected(row: Row, id: string, expected: ExpectedVersion | null): void {
    if (expected === null) return
    const { conditions } = expected
    const opaque = this.tagOf(row)
    if (this.isHeld(conditions, id, opaque)) throw this.failed('If-None-Match', conditions.ifNoneMatch ?? '*', id, opaque)
  }

  /**
   * Returns whether `If-None-Match` names the version with the tag `opaque`. @throws ApiError PreconditionFailed if `If-Match`
   * requires another version
   */
  isHeld({ ifMatch, ifNoneMatch }: Conditions, id: string, opaque: string): boolean {
    if (ifMatch !== null && !hasStrongly(ifMatch, opaque)) throw this.failed('If-Match', ifMatch, id, opaque)
    return ifNoneMatch !== null && hasWeakly(ifNoneMatch, opaque)
  }

  private versionsIn(tags: EntityTags): string | null {
    if (tags === '*') return null
    const versions = tags.flatMap(({ isWeak, opaque }) => {
      const version = opaque.slice(this.tagPrefix.length)
      return !isWeak && opaque.startsWith(this.tagPrefix) && VERSION.test(version) ? [version] : []
    })
    return `{${[...new Set(versions)].sort().join()}}`
  }

  private failed(target: 'If-Match' | 'If-None-Match', tags: EntityTags, id: string, opaque: string): ApiError {
    const tag = `"${opaque}"`
    const why =
      target === 'If-None-Match'
        ? `which If-None-Match ${tags === '*' ? '* rules out, as any other' : 'rules out'}`
        : `which If-Match does not name${hasWeakly(tags, opaque) ? ' but as a weak tag, behind W/, that never matches' : ''}`
    const message = `${this.collection.name} ${id} now has the version ${tag}, ${why}; nothing was written.`
    return new ApiError('PreconditionFailed', message, { target, headers: { ETag: tag } })
  }
}
