import { compileGet } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Entity } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import type { Row } from '../model/sql.ts'
import { parseId } from '../parse/ownParameters.ts'

/** One entity's rows by their ids. */
export class RowReads {
  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
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
    if (!row) throw this.notFound(id)
    return row
  }

  /** The error for a row that is not there. */
  notFound(id: string): ApiError {
    return new ApiError('NotFound', `There is no ${this.entity.name} with id ${id}.`)
  }
}
