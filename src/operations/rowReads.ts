import type { CacheAccess } from '../cache/cachedLists.ts'
import { compileGet } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Entity } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import type { Row } from '../model/sql.ts'
import { parseId } from '../parse/id.ts'

/** One entity's rows by their ids, each answered only when no list from memory can be without what it shows. */
export class RowReads {
  /** `access`: null where there is no list cache. `copiedMask`: the bits of the tables that the rows copy from. */
  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
    private readonly access: CacheAccess | null,
    private readonly copiedMask: number,
  ) {}

  /** The id in a path. @throws ApiError NotFound for what can be none */
  parseId(segment: string): string {
    const id = parseId(segment)
    if (id === null) throw this.notFound(shown(segment))
    return id
  }

  /** The row as `compileGet` returns it. @throws ApiError NotFound */
  async find(id: string): Promise<Row> {
    const [row] = await this.database.read(compileGet(this.entity, id))
    if (!row) throw await this.absent(id)
    const published = this.published(row, this.entity.properties.length)
    if (published !== true) await published
    return row
  }

  /** Until no list from memory can be without what the row shows. `version`: where its transaction stands in the row. */
  published(row: Row, version: number): Promise<unknown> | true {
    if (this.access === null) return true
    const { fence, tableMask } = this.access
    return fence.row(tableMask, this.copiedMask, row[version] as string)
  }

  /** Resolves when no list from memory can be without what the database shows now. */
  async settled(): Promise<void> {
    await this.access?.fence.rows(this.access.tableMask, null)
  }

  /** The error for a row that is not there: one that another write has deleted must not come back in a list. */
  async absent(id: string): Promise<ApiError> {
    await this.settled()
    return this.notFound(id)
  }

  private notFound(id: string): ApiError {
    return new ApiError('NotFound', `There is no ${this.entity.name} with id ${id}.`)
  }
}
