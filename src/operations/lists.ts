import type { ListSource } from '../cache/listSource.ts'
import { ApiError } from '../errors.ts'
import { TooCostly } from '../execute/listReads.ts'
import type { Asker } from '../model/asker.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { parseList } from '../parse/list.ts'
import { type Found, respondPage } from '../respond/page.ts'
import type { Reply } from '../respond/reply.ts'
import { narrowing } from './narrowing.ts'

/** The lists of one entity: parse, find, respond. Spec 4.2. */
export class Lists {
  constructor(
    private readonly entity: Entity,
    private readonly cursors: Cursors,
    private readonly source: ListSource,
  ) {}

  /** `text`: the query string. `url`: what links begin with. @throws ApiError */
  read(text: string, url: string, asker: Asker): Promise<Reply> | Reply {
    const key = `${url}?${text}`
    return this.source.kept(key) ?? this.find(key, text, url, asker)
  }

  private async find(key: string, text: string, url: string, asker: Asker): Promise<Reply> {
    const query = parseList(this.entity, text, this.cursors)
    const respond = (found: Found) => respondPage(this.entity, query, found, url, this.cursors)
    try {
      return await this.source.find(key, query, asker, respond)
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error
      throw new ApiError(error.code, `${error.message} To get it: ${narrowing(query)}.`, { cause: error.cause })
    }
  }
}
