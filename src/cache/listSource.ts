import type { Asker } from '../model/asker.ts'
import type { ListQuery } from '../model/query.ts'
import type { Found } from '../respond/page.ts'
import type { BytesReply, Reply } from '../respond/reply.ts'

/** Where lists come from. */
export interface ListSource {
  /** The reply that was sent before for this key, if it may be sent again; null: it has to be found. */
  kept(key: string): Reply | null
  /**
   * The reply that `respond` makes of the query's page and its total, which are of one moment. `key`: of two lists that are
   * answered alike, however they were written. @throws ApiError when the database does not answer in time
   */
  find(key: string, query: ListQuery, asker: Asker, respond: (found: Found) => BytesReply): Promise<Reply>
}
