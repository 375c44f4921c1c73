// Orders of texts for lists and summaries: asks PostgreSQL for those that a query needs, and hands them to the table.
import type { Entity, Property } from '../model/entity.ts'
import type { Asker } from '../model/key.ts'
import { isText } from '../model/kinds.ts'
import type { Filter, FiltersAndSorts, Sort } from '../model/query.ts'
import type { Reader } from './collation.ts'
import type { ColumnTable } from './columnTable.ts'
import type { TextBounds } from './conditions.ts'
import { FoldedTexts } from './foldedTexts.ts'
import { KernelFull } from './kernel.ts'
import type { Slices } from './slices.ts'
import { PLACED_MAX, TextRanks } from './textRanks.ts'

/** Ranks and folded texts by property; each is made when a query first needs it. */
export class OrderedTexts {
  private readonly ranks = new Map<Property, TextRanks>()
  /** Ranks that the table has. */
  private readonly used = new Map<Property, Int32Array>()
  private readonly folded = new Map<Property, FoldedTexts>()

  constructor(
    private readonly entity: Entity,
    private readonly table: ColumnTable,
    private readonly reader: Reader,
    private readonly slices: Slices,
  ) {}

  /**
   * Resolves when order and matches of the texts that a list needs are known, or cannot be had soon; null: they are known.
   * @throws Abandoned, ApiError 503: while texts are searched
   */
  prepare({ filters, sorts }: FiltersAndSorts, asker: Asker): Promise<void> | null {
    const waits: Promise<unknown>[] = []
    const searches: Promise<void>[] = []
    const run = (steps: Generator<void, void>) => this.slices.run(asker, steps)
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

  /** The bounds of filters that compare texts, as far as they are known. */
  boundsOf(filters: readonly Filter[]): TextBounds | undefined {
    let bounds: Map<Filter, number | readonly number[]> | undefined
    for (const filter of filters) {
      const bound = this.boundOf(filter)
      if (bound !== null) bounds = (bounds ?? new Map()).set(filter, bound)
    }
    return bounds
  }

  private boundOf(filter: Filter): number | readonly number[] | null {
    const { property, operator, value } = filter
    if (operator.folded) return this.foldedOf(property).find(filter)
    return isOrdered(filter) ? (this.use(property)?.knownBound(value as string) ?? null) : null
  }

  /** Bytes of the orders of texts, and of the texts without case and accents. */
  get bytes(): number {
    let bytes = 0
    for (const { ranks } of this.ranks.values()) bytes += 8 * ranks.length
    for (const texts of this.folded.values()) bytes += texts.bytes
    return bytes
  }

  private foldedOf(property: Property): FoldedTexts {
    return this.folded.getOrInsertComputed(property, () => new FoldedTexts(this.table.textsOf(property), this.reader))
  }

  /** Makes the table sort by the orders that there are. */
  useFor(sorts: readonly Sort[]): void {
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
    const ranks = this.ranks.getOrInsertComputed(property, () => new TextRanks(this.entity, property, texts, this.reader))
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
