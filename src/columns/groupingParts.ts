import type { Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { Figure, GroupKey, SummaryQuery } from '../model/summary.ts'
import type { Coded } from './conditions.ts'
import { Extremes, type FigureValues, Sums, ValueCounts } from './groupFigures.ts'
import type { GroupedKey } from './grouping.ts'
import { CodeNumbers, dayUnit, type KeyNumbers, PeriodNumbers, WholeNumbers } from './groupKeys.ts'
import type { Kernel } from './kernel.ts'
import { type Printer, scaleOf } from './printers.ts'
import type { RankTable } from './rankTable.ts'
import type { RowStore } from './rowStore.ts'

/** The years 1 to 9999, all days of which may be met; infinite dates are beyond. */
const PERIODS_DAYS = 366 * 10_000
/** More codes are numbered as they come. */
const WHOLE_MAX = 2 ** 30

/** Null: codes cannot tell which rows belong together, or a figure of them. */
export function groupingParts(coded: Coded, kernel: Kernel, store: RowStore, { keys, figures }: SummaryQuery) {
  const parts = new PartsOfTable(coded, kernel, store)
  const own = { keys: keys.map((key) => parts.key(key)), figures: figures.map((figure) => parts.figure(figure)) }
  return [...own.keys, ...own.figures].includes(null)
    ? null
    : { keys: own.keys as GroupedKey[], figures: own.figures as FigureValues[] }
}

class PartsOfTable {
  constructor(
    private readonly coded: Coded,
    private readonly kernel: Kernel,
    private readonly store: RowStore,
  ) {}

  key({ property, period }: GroupKey): GroupedKey | null {
    const column = this.columnOf(property)
    const ranks = this.ranksOf(property, column)
    const numbers = ranks === undefined ? null : this.numbersOf(column, property, period)
    return numbers && { numbers, ranks: ranks ?? null, print: this.printerOf(column) }
  }

  figure({ name, property }: Figure): FigureValues | null {
    const { kernel } = this
    const column = this.columnOf(property)
    if (column < 0) return null
    if (name === 'values') return new ValueCounts(kernel, column)
    if (name === 'sum') {
      const scale = property.kind.name === 'decimal' ? scaleOf(property.kind) : 0
      const [least, greatest] = this.rangeOf(column)
      const bound = Sums.greatestOf(this.store.rows, scale)
      return Math.max(greatest, -least) < bound || greatest < least ? new Sums(kernel, column, scale) : null
    }
    const ranks = this.ranksOf(property, column)
    return ranks === undefined ? null : new Extremes(kernel, column, name === 'maximum', ranks, this.printerOf(column))
  }

  private numbersOf(column: number, { kind }: Property, period: GroupKey['period']): KeyNumbers | null {
    const { kernel } = this
    if (column < 0) return null
    const [least, greatest] = this.rangeOf(column)
    const dictionary = this.coded.rowCodes.dictionaries[column]
    if (dictionary) return new WholeNumbers(kernel, column, 0, dictionary.size - 1)
    // No row has a value.
    if (greatest < least) return new WholeNumbers(kernel, column, 0, 0)
    if (period !== null)
      return greatest - least <= PERIODS_DAYS * dayUnit(kind.name)
        ? new PeriodNumbers(kernel, column, period, dayUnit(kind.name), [least, greatest])
        : null
    const isWhole = kind.name !== 'decimal' && greatest - least < WHOLE_MAX && Math.abs(least) < Number.MAX_SAFE_INTEGER
    return isWhole ? new WholeNumbers(kernel, column, 1 - least, greatest) : new CodeNumbers(kernel, column)
  }

  /** -1: some values have no code. */
  private columnOf(property: Property): number {
    const column = this.coded.entity.properties.indexOf(property)
    return (this.coded.uncoded[column] as number) > 0 ? -1 : column
  }

  /** Null: the kind has no texts. Undefined: the order of some texts is not known. */
  private ranksOf({ kind }: Property, column: number): RankTable | null | undefined {
    if (!isText(kind.name)) return null
    const ranks = this.coded.ranks[column]
    const dictionary = this.coded.rowCodes.dictionaries[column]
    return ranks && dictionary && ranks.knows(dictionary.size) ? ranks : undefined
  }

  /** The least and the greatest code of a column that is or was there. */
  private rangeOf(column: number): readonly [number, number] {
    let [least, greatest] = [Infinity, -Infinity]
    for (const segment of this.store.segments) {
      if (segment.live === 0) continue
      least = Math.min(least, segment.leastOf(column))
      greatest = Math.max(greatest, segment.greatestOf(column))
    }
    return [least, greatest]
  }

  private printerOf(column: number): (code: number) => string | null {
    return (code) => (this.coded.rowCodes.printers[column] as Printer).print(code)
  }
}
