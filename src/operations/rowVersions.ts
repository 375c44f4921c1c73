import { ApiError } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { type Conditions, type EntityTags, hasStrongly, hasWeakly } from '../model/entityTag.ts'
import type { Row } from '../model/sql.ts'
import { parseConditions } from '../parse/headers.ts'
import type { RowReads } from './rowReads.ts'

/** A row has the number of its transaction, which is counted from the cluster's beginning, modulo this. */
const TRANSACTIONS = 2 ** 32
/** As PostgreSQL writes such a number. */
const VERSION = /^\d{1,10}$/

/** Which version of a row a write asks for. */
export interface VersionAsked {
  /** Versions that it may find, an array as PostgreSQL writes it; null: any. */
  readonly versions: string | null
  /** The row, as `RowReads` finds it. @throws ApiError NotFound; PreconditionFailed where it has another version by now */
  find(id: string): Promise<Row>
}

/**
 * The versions of one entity's rows, and the tags that name them. A row's version is the transaction that wrote it, as the
 * row itself has it (`xmin`): every write of it makes another one, by whichever program. D41
 */
export class RowVersions {
  /** Other properties make other answers of the same row. */
  private readonly shape: string
  /** How many columns a row has. */
  private readonly width: number

  constructor(
    private readonly entity: Entity,
    private readonly reads: RowReads,
  ) {
    const properties = entity.properties.map(({ path, kind }) => `${path.join('.')} ${kind.name}`)
    this.width = properties.length
    this.shape = `${Bun.hash(properties.join()).toString(36).slice(0, 4)}-`
  }

  /** The tag of a row as `compileGet` returns it, without its quotes. */
  tagOf(row: Row): string {
    return this.shape + row[this.width]
  }

  /** Returns the tag of a row that was written, behind which its transaction's whole number may stand. */
  tagOfWritten(row: Row): string {
    return this.shape + (Number(row[this.width]) % TRANSACTIONS)
  }

  /**
   * Returns the versions that a write of row `id` asks for; null: none. The statement checks them, except versions that it must
   * not find: a row has none of its versions twice, so if it has none of these now, it will not have one later. @throws
   * ApiError InvalidHeader, NotFound, PreconditionFailed
   */
  async asked(headers: Headers, id: string): Promise<VersionAsked | null> {
    const conditions = parseConditions(headers)
    if (conditions === null) return null
    const find = async () => {
      const row = await this.reads.find(id)
      this.require(conditions, id, this.tagOf(row))
      return row
    }
    if (conditions.ifNoneMatch !== null) await find()
    return { versions: this.versionsIn(conditions.ifMatch ?? '*'), find }
  }

  /**
   * Returns whether a client that reads has this state already. `opaque`: its tag. @throws ApiError PreconditionFailed if it
   * asks for another one
   */
  isHeld(conditions: Conditions | null, id: string, opaque: string): boolean {
    if (conditions === null) return false
    if (conditions.ifMatch !== null && !hasStrongly(conditions.ifMatch, opaque))
      throw this.failed('If-Match', conditions.ifMatch, id, opaque)
    return conditions.ifNoneMatch !== null && hasWeakly(conditions.ifNoneMatch, opaque)
  }

  private require(conditions: Conditions, id: string, opaque: string) {
    if (this.isHeld(conditions, id, opaque)) throw this.failed('If-None-Match', conditions.ifNoneMatch ?? '*', id, opaque)
  }

  private versionsIn(tags: EntityTags): string | null {
    if (tags === '*') return null
    const versions = tags.flatMap(({ isWeak, opaque }) => (isWeak ? [] : this.versionIn(opaque)))
    return `{${versions.join()}}`
  }

  private versionIn(opaque: string): string[] {
    const version = opaque.startsWith(this.shape) ? opaque.slice(this.shape.length) : ''
    return VERSION.test(version) ? [version] : []
  }

  private failed(target: 'If-Match' | 'If-None-Match', tags: EntityTags, id: string, opaque: string): ApiError {
    const tag = `"${opaque}"`
    const why =
      target === 'If-None-Match'
        ? `which If-None-Match ${tags === '*' ? '* rules out, as any other' : 'rules out'}`
        : `which If-Match does not name${hasWeakly(tags, opaque) ? ' but as a weak tag, behind W/, that never matches' : ''}`
    const message = `${this.entity.name} ${id} now has the version ${tag}, ${why}; nothing was written.`
    return new ApiError('PreconditionFailed', message, { target, headers: { ETag: tag } })
  }
}
