// Lists and summaries by columns: gets the orders of texts, searches the table, and notes when rows need another order.
import type { Entity, Property } from '../model/entity.ts'
import type { Caller } from '../model/key.ts'
import { isText } from '../model/kinds.ts'
import type { Filter, FiltersAndSorts, ListQuery, Sort } from '../model/query.ts'
import type { SummaryQuery } from '../model/summary.ts'
import type { Reader } from './collation.ts'
import type { ColumnTable } from './columnTable.ts'
import type { TextBounds } from './conditions.ts'
import { FoldedTexts } from './foldedTexts.ts'
import type { FoundPage } from './foundPage.ts'
import type { Grouping } from './grouping.ts'
import { KernelFull } from './kernel.ts'
import { OrderDemand } from './orderDemand.ts'
import type { Slices } from './slices.ts'
import { PLACED_MAX, TextRanks } from './textRanks.ts'

export interface SearchParts {
  /** Compares texts. */
  readonly database: Reader
  /** Limits the time that lists take of the process. */
  readonly slices: Slices
}

/** The searches of one table. Ranks and folded texts of a property are made when a query first needs them. */
export class ListSearch {
  /** The column by which the rows would lie better for the lists that come; null: they lie well. */
  dueOrder: number | null = null
  private readonly demand: OrderDemand
  private readonly ranks = new Map<Property, TextRanks>()
  /** Ranks that the table has. */
  private readonly used = new Map<Property, Int32Array>()
  private readonly folded = new Map<Property, FoldedTexts>()
  private readonly bounds: TextBounds = { get: (filter) => this.boundOf(filter) }

  constructor(
    private readonly entity: Entity,
    private readonly table: ColumnTable,
    private readonly parts: SearchParts,
  ) {
    this.demand = new OrderDemand(entity, table.orderedBy)
  }

  /** Resolves when order and matches of a list's texts are known; null: they are, or are not soon. @throws Abandoned, ApiError */
  prepare({ filters, sorts }: FiltersAndSorts, caller: Caller): Promise<void> | null {
    const waits: Promise<unknown>[] = []
    const searches: Promise<void>[] = []
    const run = (steps: Generator<void, void>) => this.parts.slices.run(caller, steps)
    for (const { property } of sorts) if (isText(property.kind.name)) this.extend(property, waits)
    for (const filter of filters) {
      if (isOrdered(filter)) this.findBound(filter.property, filter.value as string, waits)
      const search = filter.operator.folded && this.foldedOf(filter.property).prepare(filter, run)
      if (search) searches.push(search)
    }
    if (waits.length + searches.length === 0) return null
    // Without an order the database answers.
    return Promise.all([Promise.all(waits).catch(ignore), ...searches]).then(ignore)
  }

  /** As `prepare`, for the groups of a summary. */
  prepareGroups(query: SummaryQuery, caller: Caller): Promise<void> | null {
    return this.prepare({ filters: query.filters, sorts: orderedTexts(query) }, caller)
  }

  /** Groups of rows that are yet to be formed; null: codes cannot tell. */
  group(query: SummaryQuery): Grouping | null {
    this.useFor(orderedTexts(query))
    return this.table.group(query, this.bounds)
  }

  /** The total and the rows of a page, in the order of the sorts; null: codes cannot tell. */
  find(query: ListQuery): FoundPage | null {
    const { filters, sorts, page, pageSize, seek } = query
    const startMs = performance.now()
    this.useFor(sorts)
    const found = this.table.page(filters, sorts, seek ?? (page - 1) * pageSize, pageSize, this.bounds)
    this.parts.slices.note(performance.now() - startMs)
    if (found !== null) this.dueOrder ??= this.demand.note(query, found.total, this.table.rows)
    return found
  }

  private boundOf(filter: Filter): number | readonly number[] | null {
    const { property, operator, value } = filter
    if (operator.folded) return this.foldedOf(property).find(filter)
    return isOrdered(filter) ? (this.use(property)?.knownBound(value as string) ?? null) : null
  }

  /** Bytes beside those of the table: of the orders of texts, and of the texts without case and accents. */
  get bytes(): number {
    let bytes = 0
    for (const { ranks } of this.ranks.values()) bytes += 8 * ranks.length
    for (const texts of this.folded.values()) bytes += texts.bytes
    return bytes
  }

  private foldedOf(property: Property): FoldedTexts {
    return this.folded.getOrInsertComputed(property, () => new FoldedTexts(this.table.textsOf(property), this.parts.database))
  }

  /** Makes the table sort by the orders that there are. */
  private useFor(sorts: readonly Sort[]): void {
    for (const { property } of sorts) if (isText(property.kind.name)) this.use(property)
  }

  private use(property: Property): TextRanks | null {
    const ranks = this.ranks.get(property) ?? null
    if (ranks === null || this.used.get(property) === ranks.ranks) return ranks
    this.used.set(property, ranks.ranks)
    try {
      this.table.useRanks(property, ranks.ranks)
    } catch (error) {
      // The table has no order of them then, and the database answers.
      if (!(error instanceof KernelFull)) throw error
    }
    return ranks
  }

  private extend(property: Property, waits: Promise<unknown>[]): TextRanks {
    const texts = this.table.textsOf(property)
    const ranks = this.ranks.getOrInsertComputed(property, () => new TextRanks(this.entity, property, texts, this.parts.database))
    const missing = texts.size - ranks.ranks.length
    if (missing > 0) {
      const extending = ranks.extend()
      // More of them are ordered in the background: then all texts are, which may take seconds.
      if (missing <= PLACED_MAX) waits.push(extending)
      else extending.catch(ignore)
    }
    return ranks
  }

  private findBound(property: Property, operand: string, waits: Promise<unknown>[]) {
    const before: Promise<unknown>[] = []
    const ranks = this.extend(property, before)
    if (before.length > 0) waits.push(Promise.all(before).then(() => ranks.boundOf(operand)))
    else if (ranks.ranks.length > 1 && ranks.knownBound(operand) === null) waits.push(ranks.boundOf(operand))
  }
}

function ignore() {}

/** Returns whether it asks which texts are less than its operand. */
function isOrdered({ property, operator, value }: Filter): boolean {
  const { sides } = operator
  return isText(property.kind.name) && value !== null && sides !== null && sides.less !== sides.greater
}

/** The properties by whose order groups are sorted or compared; those of other kinds than texts have no effect. */
function orderedTexts({ keys, figures }: SummaryQuery): Sort[] {
  const compared = figures.flatMap(({ name, property }) => (name === 'minimum' || name === 'maximum' ? [property] : []))
  return [...keys.map(({ property }) => property), ...compared].map((property) => ({ property, descending: false }))
}
