import { LruCache } from '../model/lruCache.ts'
import type { Collation } from './collation.ts'
import type { TextOrder } from './textOrder.ts'
import { type Texts, takeAll } from './textPieces.ts'

/** Between which texts an operand lies, by their codes; 0 stands for either end of all texts. */
interface Gap {
  /** Less than the operand. */
  readonly below: number
  /** Not less. */
  readonly above: number
}

/** Ranks from `from` up to, not including, `to`. */
interface Range {
  readonly from: number
  readonly to: number
}

const GAPS_BYTES_MAX = 256 * 1_024
const EVERYWHERE: Gap = { below: 0, above: 0 }
/** Texts on each side of where ICU here has an operand. */
const NEAR = 8
/** A range of so many texts is asked of at once. */
const SMALL_MAX = 64
const guess = new Intl.Collator('und')

/**
 * Between which texts operands lie. What is known of one holds for each later order: only texts that have come between
 * those two have to be compared with it.
 */
export class TextBounds {
  private readonly gaps = new LruCache<Gap>(GAPS_BYTES_MAX, (_, operand) => 128 + 2 * operand.length)

  constructor(
    private readonly texts: Texts,
    private readonly collation: Collation,
  ) {}

  /** How many texts of the order are less than the operand; null: that has to be looked for. */
  known(order: TextOrder, operand: string): number | null {
    const gap = this.gaps.get(operand)
    if (gap === undefined) return null
    const { from, to } = rangeOf(order, gap)
    return from === to ? to : null
  }

  /** The same, looked for and kept. @throws ApiError 500, 503 */
  async find(order: TextOrder, operand: string): Promise<number> {
    const bound = await this.search(order, operand, this.gaps.get(operand))
    this.gaps.set(operand, { below: order.codes[bound - 1] ?? 0, above: order.codes[bound] ?? 0 })
    return bound
  }

  /** The same, not kept. @throws ApiError 500, 503 */
  async search(order: TextOrder, operand: string, gap = EVERYWHERE): Promise<number> {
    let range = rangeOf(order, gap)
    for (let isFirst = true; range.from < range.to; isFirst = false) {
      const ranks = isFirst ? this.near(order, operand, range) : spread(range)
      range = await this.narrow(order, operand, range, ranks)
    }
    return range.to
  }

  /** Compares the operand with the texts of some ranks of the range; of fewer, where one statement does not take all. */
  private async narrow(order: TextOrder, operand: string, range: Range, some: readonly number[]): Promise<Range> {
    let ranks = some
    let thresholds = this.textsOf(order, ranks)
    for (; thresholds === null; thresholds = this.textsOf(order, ranks))
      ranks = ranks.filter((_, index) => index % 2 === 1)
    const equal = thresholds.indexOf(operand)
    if (equal >= 0) return { from: ranks[equal] as number, to: ranks[equal] as number }
    const [place] = (await this.collation.places([operand], thresholds)) as [number]
    return {
      from: place > 0 ? (ranks[place - 1] as number) + 1 : range.from,
      to: ranks[place] ?? range.to,
    }
  }

  private textsOf({ codes }: TextOrder, ranks: readonly number[]): string[] | null {
    return takeAll(
      Int32Array.from(ranks, (rank) => codes[rank] as number),
      this.texts,
    )
  }

  /** Ranks around the place that the operand would have by ICU here, which orders most texts as PostgreSQL's does. */
  private near({ codes }: TextOrder, operand: string, { from, to }: Range): number[] {
    let [low, high] = [from, to]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (guess.compare(this.texts.text(codes[middle] as number), operand) < 0) low = middle + 1
      else high = middle
    }
    const first = Math.max(from, low - NEAR)
    return Array.from({ length: Math.min(to, low + NEAR) - first }, (_, index) => first + index)
  }
}

function rangeOf({ codes, ranks }: TextOrder, { below, above }: Gap): Range {
  return {
    from: below === 0 ? 0 : (ranks[below] as number) + 1,
    to: above === 0 ? codes.length : (ranks[above] as number),
  }
}

/** All ranks of a small range; of a large one as many as lie between each two of them. */
function spread({ from, to }: Range): number[] {
  const step = to - from <= SMALL_MAX ? 1 : Math.ceil(Math.sqrt(to - from))
  const ranks: number[] = []
  for (let rank = from + ((step - 1) >> 1); rank < to; rank += step) ranks.push(rank)
  return ranks
}
