// Splits the filters and sorts of a list or summary by the table whose texts they need: the table of the list or summary, or a
// table to which its paths lead.
import type { Filter, Property } from '../model/entity.ts'
import type { Caller } from '../model/key.ts'
import { isOfOtherRows, withoutUnions } from '../model/query.ts'
import { relatedFilter } from './pathFilters.ts'
import type { Prepared, TableTexts } from './tableTexts.ts'

/** A table with texts. */
interface TableOfTexts {
  readonly texts: TableTexts
}

/** The filters and properties of a list or summary whose texts are in one table. */
interface Part {
  readonly filters: Filter[]
  /** Properties whose texts must be ordered. */
  readonly compared: Property[]
}

/**
 * Prepares the texts that a list or summary needs in each table, and resolves as `TableTexts.prepare` does. `compared`:
 * properties whose texts must be ordered, in addition to those of the sorts. @throws Abandoned, ApiError
 */
export function prepareTexts(
  table: TableOfTexts,
  query: Prepared,
  compared: readonly Property[],
  tables: (name: string) => TableOfTexts | undefined,
  caller: Caller,
): Promise<void> | null {
  const shown = query.choice?.related ?? []
  if (shown.length === 0 && !query.filters.some(isOfOtherRows) && compared.every(({ related }) => related === null))
    return table.texts.prepare(query, compared, caller)
  const parts = new TextsOfTables(tables)
  const own = parts.of(table)
  parts.add(table, query.filters, compared)
  // The filters of a view decide which of these values the page shows, so the texts of these filters are needed, too.
  for (const property of shown) parts.add(table, [], [], property)
  const waits: Promise<void>[] = []
  for (const [of, part] of parts.all) {
    const wait = of.texts.prepare(part === own ? { ...query, ...part } : { ...part, sorts: [] }, part.compared, caller)
    if (wait !== null) waits.push(wait)
  }
  return waits.length === 0 ? null : Promise.all(waits).then(() => undefined)
}

class TextsOfTables {
  readonly all = new Map<TableOfTexts, Part>()

  constructor(private readonly tables: (name: string) => TableOfTexts | undefined) {}

  of(table: TableOfTexts): Part {
    return this.all.getOrInsertComputed(table, () => ({ filters: [], compared: [] }))
  }

  /**
   * Adds filters and properties to the parts of the tables that have their texts. `shown`: a related property that the page
   * shows.
   */
  add(table: TableOfTexts, filters: readonly Filter[], compared: readonly Property[], shown: Property | null = null) {
    const part = this.of(table)
    for (const filter of withoutUnions(filters)) {
      const { property, chain } = filter
      if (property.related === null) part.filters.push(filter)
      else this.addRelated(property, [relatedFilter(filter)], [], null)
      if (chain !== undefined && property.related === null) this.add(table, chain.filters, [])
    }
    for (const property of compared) {
      if (property.related === null) part.compared.push(property)
      else this.addRelated(property, [], [property.related.property], null)
    }
    if (shown !== null && shown.related !== null) this.addRelated(shown, [], [], shown.related.property)
  }

  private addRelated({ related }: Property, filters: readonly Filter[], compared: readonly Property[], shown: Property | null) {
    if (related === null) return
    const table = this.tables(related.view.table)
    if (table !== undefined) this.add(table, [...filters, ...related.view.filters], compared, shown)
  }
}
