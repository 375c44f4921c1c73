// Ranks of a property's texts by its collation, and of operands among them; both are kept while texts are added.
import { unavailable } from '../execute/outcomes.ts'
import type { Entity, Property } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import { firstNotBefore } from './bisect.ts'
import { Collation, type Reader } from './collation.ts'
import { insertAt, orderOf, sortTexts, TEXTS_MAX, type TextOrder, type Texts } from './textOrder.ts'

/** New texts that are placed one by one; with more, all texts are ordered again. */
export const PLACED_MAX = 100
/** Fewer texts are ordered again in any case: that is one statement. */
const ORDERED_MIN = 256
/** Operands that are looked for at once, of one property. */
const SEARCHES_MAX = 100
/** Texts that an operand is compared with in one statement. */
const THRESHOLDS_MAX = 64
const GAPS_BYTES_MAX = 256 * 1_024
/** Texts on each side of where ICU here has an operand. */
const NEAR = 8
const guess = new Intl.Collator('und')

/** The texts between which an operand lies, by their codes; 0 stands for either end of all texts. */
interface Gap {
  /** Less than the operand. */
  readonly below: number
  /** Not less. */
  readonly above: number
}

const EVERYWHERE: Gap = { below: 0, above: 0 }

/** Ranks from `from` up to, not including, `to`. */
interface Range {
  readonly from: number
  readonly to: number
}

/**
 * An order that holds as long as PostgreSQL, and the column's definition, stay the same. It takes 8 bytes for each text, twice as
 * many while texts are added, up to 40 while all are ordered, and 256 KiB for operands.
 */
export class TextRanks {
  private order = orderOf(new Int32Array(0))
  private readonly collation: Collation
  /** Positions of operands. A gap stays right in a later order: only texts that were added within it have to be compared. */
  private readonly gaps = new LruCache<Gap>(GAPS_BYTES_MAX, (_, operand) => 128 + 2 * operand.length)
  private readonly searches = new Map<string, Promise<number>>()
  private extending: Promise<void> | null = null

  constructor(
    entity: Entity,
    property: Property,
    private readonly texts: Texts,
    reader: Reader,
  ) {
    this.collation = new Collation(entity, property, reader)
  }

  /** Ranks by code; codes beyond came later. The array never changes: if texts are added, there is another one. */
  get ranks(): Int32Array {
    return this.order.ranks
  }

  /** Adds the texts that there are at the call, unless they are too many. @throws ApiError 500, 503; nothing has changed then */
  async extend(): Promise<void> {
    const { size } = this.texts
    while (this.ranks.length < size && size <= TEXTS_MAX) await (this.extending ??= this.add())
  }

  /** How many texts of the order are less than the operand; null: `boundOf` has to look for it. */
  knownBound(operand: string): number | null {
    const gap = this.gaps.get(operand)
    if (gap === undefined) return null
    const { from, to } = rangeOf(this.order, gap)
    return from === to ? to : null
  }

  /**
   * How many of the ranked texts are less than the operand: those whose rank is below that number. It is of the `ranks` at the
   * moment at which it resolves; a caller that has awaited anything since asks `knownBound`. @throws ApiError 500, 503
   */
  boundOf(operand: string): Promise<number> {
    let search = this.searches.get(operand)
    if (search) return search
    if (this.searches.size >= SEARCHES_MAX) return Promise.reject(unavailable(new Error('too many operands are looked for')))
    search = this.findBound(operand).finally(() => this.searches.delete(operand))
    this.searches.set(operand, search)
    return search
  }

  private async findBound(operand: string): Promise<number> {
    for (;;) {
      const { order } = this
      const bound = await this.search(order, operand, this.gaps.get(operand))
      this.gaps.set(operand, { below: order.codes[bound - 1] ?? 0, above: order.codes[bound] ?? 0 })
      if (order === this.order) return bound
    }
  }

  private async add(): Promise<void> {
    const { order, texts, collation } = this
    try {
      const first = order.ranks.length
      const added = Array.from({ length: texts.size - first }, (_, index) => first + index)
      if (added.length <= PLACED_MAX && order.codes.length >= ORDERED_MIN) {
        const ranks = await Promise.all(added.map((code) => this.search(order, texts.text(code))))
        this.order = await insertAt(order, added, ranks, texts, collation)
      } else {
        const all = Int32Array.from({ length: order.codes.length + added.length }, (_, index) => index + 1)
        this.order = orderOf(await sortTexts(all, texts, collation))
      }
    } finally {
      this.extending = null
    }
  }

  /** How many texts of an order are less than the operand. */
  private async search(order: TextOrder, operand: string, gap = EVERYWHERE): Promise<number> {
    let { from, to } = rangeOf(order, gap)
    for (let isFirst = true; from < to; isFirst = false) {
      const ranks = isFirst ? this.near(order, operand, { from, to }) : spread({ from, to })
      const thresholds = ranks.map((rank) => this.texts.text(order.codes[rank]))
      const equal = thresholds.indexOf(operand)
      if (equal >= 0) return ranks[equal]
      const [place] = (await this.collation.places([operand], thresholds)) as [number]
      if (place > 0) from = ranks[place - 1] + 1
      to = ranks[place] ?? to
    }
    return to
  }

  /** Ranks around the place that the operand has by ICU here, which orders most texts as PostgreSQL does. */
  private near({ codes }: TextOrder, operand: string, { from, to }: Range): number[] {
    const isLess = (rank: number) => guess.compare(this.texts.text(codes[rank]), operand) < 0
    const place = firstNotBefore(from, to, isLess)
    const first = Math.max(from, place - NEAR)
    return Array.from({ length: Math.min(to, place + NEAR) - first }, (_, index) => first + index)
  }
}

function rangeOf({ codes, ranks }: TextOrder, { below, above }: Gap): Range {
  return {
    from: below === 0 ? 0 : ranks[below] + 1,
    to: above === 0 ? codes.length : ranks[above],
  }
}

/** Ranks at equal distances. */
function spread({ from, to }: Range): number[] {
  const step = Math.ceil((to - from) / THRESHOLDS_MAX)
  const ranks: number[] = []
  for (let rank = from + ((step - 1) >> 1); rank < to; rank += step) ranks.push(rank)
  return ranks
}
