// Lists and summaries by columns: gets the orders of texts, searches the table, and notes when rows need another order.
import type { Entity } from '../model/entity.ts'
import type { Asker } from '../model/key.ts'
import type { ListQuery, Sort } from '../model/query.ts'
import type { SummaryQuery } from '../model/summary.ts'
import type { Reader } from './collation.ts'
import type { ColumnTable } from './columnTable.ts'
import type { FoundPage } from './foundPage.ts'
import type { Grouping } from './grouping.ts'
import { OrderDemand } from './orderDemand.ts'
import { OrderedTexts } from './orderedTexts.ts'
import type { Slices } from './slices.ts'

export interface SearchParts {
  /** Compares texts. */
  readonly database: Reader
  /** Limits the time that lists take of the process. */
  readonly slices: Slices
}

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
    this.texts = new OrderedTexts(entity, table, parts.database, parts.slices)
  }

  /** Bytes beside those of the table. */
  get bytes(): number {
    return this.texts.bytes
  }

  /** Learns how the texts lie that a list compares or sorts, and which match; null: that is known. */
  prepare(query: ListQuery, asker: Asker): Promise<void> | null {
    return this.texts.prepare(query, asker)
  }

  /** As `prepare`, for the groups of a summary. */
  prepareGroups(query: SummaryQuery, asker: Asker): Promise<void> | null {
    return this.texts.prepare({ filters: query.filters, sorts: orderedTexts(query) }, asker)
  }

  /** Groups of rows that are yet to be formed; null: codes cannot tell. */
  group(query: SummaryQuery): Grouping | null {
    this.texts.useFor(orderedTexts(query))
    return this.table.group(query, this.texts.boundsOf(query.filters))
  }

  /** The total and the rows of a page, in the order of the sorts; null: codes cannot tell. */
  find(query: ListQuery): FoundPage | null {
    const { filters, sorts, page, pageSize, seek } = query
    const startMs = performance.now()
    this.texts.useFor(sorts)
    const bounds = this.texts.boundsOf(filters)
    const found = this.table.page(filters, sorts, seek ?? (page - 1) * pageSize, pageSize, bounds)
    this.parts.slices.note(performance.now() - startMs)
    if (found !== null) this.dueOrder ??= this.demand.note(query, found.total, this.table.rows)
    return found
  }
}

/** The properties by whose order groups are sorted or compared; those of other kinds than texts have no effect. */
function orderedTexts({ keys, figures }: SummaryQuery): Sort[] {
  const compared = figures.flatMap(({ name, property }) => (name === 'minimum' || name === 'maximum' ? [property] : []))
  return [...keys.map(({ property }) => property), ...compared].map((property) => ({ property, descending: false }))
}
