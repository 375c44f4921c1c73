import type { Entity } from '../model/entity.ts'
import type { ListQuery } from '../model/query.ts'
import type { Reader } from './collation.ts'
import type { ColumnTable } from './columnTable.ts'
import type { FoundPage } from './foundPage.ts'
import { OrderDemand } from './orderDemand.ts'
import { OrderedTexts } from './orderedTexts.ts'
import type { Slices } from './slices.ts'

export interface SearchParts {
  /** Says how texts lie in their order. */
  readonly database: Reader
  /** Limits the time that lists take of the process. */
  readonly slices: Slices
}

/** Totals and pages of lists from the columns of a table. */
export class ListSearch {
  /** The column by which the rows would lie better for the lists that come; null: they lie well. */
  dueOrder: number | null = null
  private readonly demand: OrderDemand
  private readonly texts: OrderedTexts

  constructor(
    entity: Entity,
    private readonly table: ColumnTable,
    private readonly parts: SearchParts,
  ) {
    this.demand = new OrderDemand(entity, table.orderedBy)
    this.texts = new OrderedTexts(entity, table, parts.database)
  }

  /** Bytes beside those of the table. */
  get bytes(): number {
    return this.texts.foldedBytes
  }

  /** Asks PostgreSQL how the texts lie that a list compares or sorts; null: that is known. */
  prepare(query: ListQuery): Promise<void> | null {
    return this.texts.prepare(query)
  }

  /** The total and the rows of a page, in the order of the sorts; null: codes cannot tell. */
  find(query: ListQuery): FoundPage | null {
    const { filters, sorts, page, pageSize, seek } = query
    const startMs = performance.now()
    this.texts.useFor(sorts)
    const bounds = this.texts.boundsOf(filters)
    const found =
      seek === null
        ? this.table.page(filters, sorts, (page - 1) * pageSize, pageSize, bounds)
        : this.table.pageBeside(filters, sorts, seek, pageSize, bounds)
    this.parts.slices.note(performance.now() - startMs)
    if (found !== null) this.dueOrder ??= this.demand.note(query, found.total, this.table.rows)
    return found
  }
}
