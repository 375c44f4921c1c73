// Facts about the texts of a table: their order, the positions of operands in it, and the texts that a folded filter matches.
import type { Entity, Projection, Property } from '../model/entity.ts'
import type { Caller } from '../model/key.ts'
import { isKeptAsText } from '../model/kinds.ts'
import { type Filter, type FiltersAndSorts, type Seek, withoutUnions } from '../model/query.ts'
import type { Reader } from './collation.ts'
import type { KnownTexts, TextBound } from './conditions.ts'
import type { Dictionary } from './dictionary.ts'
import { FoldedTexts } from './foldedTexts.ts'
import type { RowCodes } from './rowCodes.ts'
import type { Slices } from './slices.ts'
import { type ReadOrder, TextRanks } from './textRanks.ts'

/** Maximum time for which a list waits for the ranks of new texts. After that, PostgreSQL answers the list. */
const PLACED_MS_MAX = 100

export interface TextParts {
  /** Connection over which PostgreSQL compares texts. */
  readonly database: Reader
  /** Limits how long searches may block the event loop. */
  readonly slices: Slices
  /** Returns a function that streams a property's texts in their order. */
  readOrder(property: Property): ReadOrder
}

/**
 * Callbacks for the ranks of texts: `onPlaced` when new texts have got ranks, `onSpread` when existing ranks have been replaced.
 */
export interface TextListener {
  onPlaced(column: number): void
  onSpread(column: number): void
}

/** The parts of a list or summary that need facts about texts. */
export type Prepared = FiltersAndSorts & { readonly seek?: Seek | null; readonly choice?: Projection | null }

/** Texts of a table: their ranks and their folded forms. Both are computed for a property when a list first needs them. */
export class TableTexts implements KnownTexts {
  private readonly ranks = new Map<number, TextRanks>()
  private readonly folded = new Map<number, FoldedTexts>()

  constructor(
    private readonly entity: Entity,
    private readonly rowCodes: RowCodes,
    private readonly parts: TextParts,
    private readonly listener: TextListener,
  ) {}

  /** Bytes of ranks and folded texts. */
  get bytes(): number {
    let bytes = 0
    for (const ranks of this.ranks.values()) bytes += ranks.bytes
    for (const texts of this.folded.values()) bytes += texts.bytes
    return bytes
  }

  /** Returns the ranks of a column's texts; null if the column has no texts, or if their order was not read yet. */
  ranksOf(column: number): TextRanks | null {
    const ranks = this.ranks.get(column)
    return ranks?.state === 'ready' ? ranks : null
  }

  /** Returns whether each text of the column has a rank. */
  isOrdered(column: number): boolean {
    return this.ranksOf(column)?.unplaced === 0
  }

  boundOf(column: number, operand: string): TextBound | null {
    return this.isOrdered(column) ? (this.ranks.get(column)?.knownBound(operand) ?? null) : null
  }

  codesOf(filter: Filter): readonly number[] | null {
    return this.foldedOf(this.columnOf(filter.property)).find(filter)
  }

  /** Gives ranks to new texts of changed rows before a list needs these ranks. */
  placeNew(): void {
    for (const ranks of this.ranks.values()) if (ranks.state === 'ready' && ranks.unplaced > 0) ranks.place().catch(ignore)
  }

  /**
   * Resolves when the order of a list's texts, and the texts that its filters match, are known. Returns null if there is nothing
   * to wait for: all is known, or PostgreSQL will answer the list. `compared`: properties whose texts must be ordered, in
   * addition to those of `sorts`. @throws Abandoned, ApiError
   */
  prepare({ filters, sorts, seek }: Prepared, compared: readonly Property[], caller: Caller): Promise<void> | null {
    const waits: Promise<unknown>[] = []
    const searches: Promise<void>[] = []
    const run = (steps: Generator<void, void>) => this.parts.slices.run(caller, steps)
    for (const property of compared) if (isKeptAsText(property.kind.name)) this.prepareOrder(this.columnOf(property), null, waits)
    for (const [index, { property }] of sorts.entries()) {
      // A cursor may have a text that no row has any more.
      const text = seek?.position[index] ?? null
      if (isKeptAsText(property.kind.name)) this.prepareOrder(this.columnOf(property), text, waits)
    }
    for (const filter of withoutUnions(filters)) {
      const column = this.columnOf(filter.property)
      if (isOrdered(filter)) this.prepareOrder(column, filter.property.kind.printFilter(filter.value as string), waits)
      const search = filter.operator.folded && this.foldedOf(column).prepare(filter, run)
      if (search) searches.push(search)
    }
    if (waits.length + searches.length === 0) return null
    // If the order is still unknown afterwards, PostgreSQL answers the list.
    const ordering = waits.length === 0 ? null : Promise.race([Promise.all(waits).catch(ignore), Bun.sleep(PLACED_MS_MAX)])
    return Promise.all([ordering, ...searches]).then(ignore)
  }

  private prepareOrder(column: number, operand: string | null, waits: Promise<unknown>[]) {
    const ranks = this.ranks.getOrInsertComputed(column, () => this.makeRanks(column))
    ranks.start()
    if (ranks.state !== 'ready') return
    const isKnown = operand === null || ranks.knownBound(operand) !== null
    if (ranks.unplaced > 0) waits.push(ranks.place().then(() => (isKnown ? undefined : ranks.findBound(operand))))
    else if (!isKnown) waits.push(ranks.findBound(operand))
  }

  private makeRanks(column: number): TextRanks {
    const property = this.entity.properties[column]
    return new TextRanks(this.entity, property, this.textsOf(column), {
      reader: this.parts.database,
      readOrder: this.parts.readOrder(property),
      onPlaced: () => this.listener.onPlaced(column),
      onSpread: () => this.listener.onSpread(column),
    })
  }

  private foldedOf(column: number): FoldedTexts {
    return this.folded.getOrInsertComputed(column, () => new FoldedTexts(this.textsOf(column), this.parts.database))
  }

  private textsOf(column: number): Dictionary {
    return this.rowCodes.dictionaries[column] as Dictionary
  }

  private columnOf(property: Property): number {
    return this.entity.properties.indexOf(property)
  }
}

function ignore() {}

/** Returns whether a filter depends on which texts come before its operand. */
function isOrdered({ property, operator, value }: Filter): boolean {
  const { sides } = operator
  return isKeptAsText(property.kind.name) && value !== null && sides !== null && sides.less !== sides.greater
}
