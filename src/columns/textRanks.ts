import { unavailable } from '../execute/outcomes.ts'
import type { Entity, Property } from '../model/entity.ts'
import { Collation, type Reader } from './collation.ts'
import { extendOrder } from './extendOrder.ts'
import { TextBounds } from './textBounds.ts'
import { NO_ORDER, type TextOrder } from './textOrder.ts'
import type { Texts } from './textPieces.ts'

/** Of one property. */
const TEXTS_MAX = 1_000_000
/** Operands that are looked for at once, of one property. */
const SEARCHES_MAX = 100

/**
 * The order of a property's texts as the collation of its column has it, so that rows can be sorted and compared by codes.
 * It holds for as long as PostgreSQL, and the column's definition, stay the same. It takes 8 bytes for each text, twice as
 * many while texts are added, up to 40 while all are ordered, and 256 KiB for operands.
 */
export class TextRanks {
  private order: TextOrder = NO_ORDER
  private readonly bounds: TextBounds
  private readonly collation: Collation
  private readonly searches = new Map<string, Promise<number>>()
  private extending: Promise<void> | null = null

  constructor(
    entity: Entity,
    property: Property,
    private readonly texts: Texts,
    reader: Reader,
  ) {
    this.collation = new Collation(entity, property, reader)
    this.bounds = new TextBounds(texts, this.collation)
  }

  /**
   * By code, how many texts are less than its own; of code 0, which is no text, it says nothing. Codes beyond came later.
   * The array never changes: there is another when they have been added.
   */
  get ranks(): Int32Array {
    return this.order.ranks
  }

  /**
   * Adds the texts that have come, and waits for those that were there at the call. False: they are too many to be
   * ordered. @throws ApiError 500, 503; then nothing has changed
   */
  async extend(): Promise<boolean> {
    const { size } = this.texts
    if (size > TEXTS_MAX) return false
    while (this.ranks.length < size) await (this.extending ??= this.add())
    return true
  }

  /**
   * How many of the ranked texts are less than the operand: those whose rank is below that number. Of the `ranks` at the
   * moment at which it resolves; who has waited since asks `knownBound`. @throws ApiError 500, 503
   */
  boundOf(operand: string): Promise<number> {
    let search = this.searches.get(operand)
    if (search) return search
    if (this.searches.size >= SEARCHES_MAX)
      return Promise.reject(unavailable(new Error('too many operands are looked for')))
    search = this.search(operand).finally(() => this.searches.delete(operand))
    this.searches.set(operand, search)
    return search
  }

  /** The same of the `ranks` there are now; null: `boundOf` has to look for it. */
  knownBound(operand: string): number | null {
    return this.bounds.known(this.order, operand)
  }

  private async search(operand: string): Promise<number> {
    for (;;) {
      const { order } = this
      const bound = await this.bounds.find(order, operand)
      if (order === this.order) return bound
    }
  }

  private async add(): Promise<void> {
    try {
      this.order = await extendOrder(this.order, this.texts, this.collation, this.bounds)
    } finally {
      this.extending = null
    }
  }
}
