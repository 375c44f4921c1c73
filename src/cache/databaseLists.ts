import { compileList, ownerOf } from '../compile/list.ts'
import type { ListReads } from '../execute/listReads.ts'
import type { Asker } from '../model/asker.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Found } from '../respond/page.ts'
import type { BytesReply, Reply } from '../respond/reply.ts'
import { countList } from './listCounts.ts'
import type { ListSource } from './listSource.ts'

/** Reads every list from the database, in one statement. */
export class DatabaseLists implements ListSource {
  constructor(
    private readonly entity: Entity,
    private readonly reads: ListReads,
  ) {}

  kept(): null {
    return null
  }

  async find(_: string, query: ListQuery, asker: Asker, respond: (found: Found) => BytesReply): Promise<Reply> {
    countList('database')
    const rows = await this.reads.read(compileList(this.entity, query), asker, ownerOf(query))
    return respond({ rows, total: Number(rows[0]?.[0] ?? 0) })
  }
}
