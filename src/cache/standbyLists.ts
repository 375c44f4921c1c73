import { compileList, isNarrow } from '../compile/list.ts'
import { Abandoned, TooCostly } from '../execute/listReads.ts'
import type { Standbys } from '../execute/standbys.ts'
import type { Asker } from '../model/asker.ts'
import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Found } from '../respond/page.ts'

/** Lists of one entity from hot standbys. What they find is never kept: their snapshots do not say which transactions run. */
export class StandbyLists {
  constructor(
    private readonly entity: Entity,
    private readonly standbys: Standbys,
  ) {}

  /**
   * Null: the primary has to find it, as it does where an index finds the rows at once.
   * @throws TooCostly, Abandoned
   */
  find(query: ListQuery, asker: Asker): Promise<Found | null> {
    if (isNarrow(query)) return Promise.resolve(null)
    return this.standbys.find(async (reads) => {
      const rows = await reads.read(compileList(this.entity, query), asker)
      return { rows, total: Number(rows[0]?.[0] ?? 0) }
    }, isFinal)
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof TooCostly || error instanceof Abandoned
}
