// Plan of a summary in columns: how each key is numbered, and whether each figure is exact. grouping.ts carries it out.
import type { Property } from '../model/entity.ts'
import type { Figure, GroupKey, SummaryQuery } from '../model/summary.ts'
import { DAY } from './codes.ts'
import { type Coded, ranksOf } from './conditions.ts'
import { Extremes, type FigureValues, GroupRecords, Sums } from './groupFigures.ts'
import type { GroupedKey, GroupingParts } from './grouping.ts'
import { CodeNumbers, type KeyNumbers, PeriodNumbers, WholeNumbers } from './groupKeys.ts'
import type { Reservations } from './kernel.ts'
import { type Printer, scaleOf } from './printers.ts'
import type { RowStore } from './rowStore.ts'

/** Days of the years 1 to 9999; a range with infinite dates is longer. */
const PERIODS_DAYS = 366 * 10_000
/** More codes, and floats, are numbered as they come. */
const WHOLE_MAX = 2 ** 30
/** A code is off by less than a quarter of a unit up to here. */
const UNITS_MAX = 2 ** 51
const SUM_MAX = 2 ** 62

/** The parts of a grouping; null: codes cannot tell which rows belong together, or a figure of them. */
export function groupingParts(
  coded: Coded,
  memory: Reservations,
  store: RowStore,
  { keys, figures }: SummaryQuery,
): Pick<GroupingParts, 'keys' | 'records' | 'figures'> | null {
  const parts = new PartsOfTable(coded, memory, store, figures)
  const own = { keys: keys.map((key) => parts.key(key)), figures: figures.map((figure) => parts.figure(figure)) }
  if ([...own.keys, ...own.figures].includes(null)) return null
  return { keys: own.keys as GroupedKey[], records: parts.records, figures: own.figures as FigureValues[] }
}

class PartsOfTable {
  readonly records: GroupRecords
  private readonly summed: readonly Property[]

  constructor(
    private readonly coded: Coded,
    private readonly memory: Reservations,
    private readonly store: RowStore,
    figures: readonly Figure[],
  ) {
    this.summed = figures.flatMap(({ name, property }) => (name === 'sum' ? [property] : []))
    this.records = new GroupRecords(memory, this.summed.length)
  }

  key({ property, period }: GroupKey): GroupedKey | null {
    const column = this.columnOf(property)
    const ranks = ranksOf(this.coded, column)
    const numbers = ranks === undefined ? null : this.numbersOf(column, property, period)
    return numbers && { numbers, ranks: ranks ?? null, printer: this.printerOf(column) }
  }

  figure({ name, property }: Figure): FigureValues | null {
    const column = this.columnOf(property)
    if (column < 0) return null
    const index = this.summed.indexOf(property)
    // Each average has a sum beside it.
    if (name === 'values') return { textOf: (group) => String(this.records.valuesOf(group, index)) }
    if (name === 'sum') {
      const scale = property.kind.name === 'decimal' ? scaleOf(property.kind) : 0
      return this.isExact(column, 10 ** scale) ? new Sums(this.records, column, index, scale) : null
    }
    const ranks = ranksOf(this.coded, column)
    return ranks === undefined ? null : new Extremes(column, name === 'maximum', ranks, this.printerOf(column))
  }

  /** Returns whether so many units of every code are an integer that a float keeps, and all of them fit into 64 bits. */
  private isExact(column: number, units: number): boolean {
    let sum = 0
    for (const segment of this.store.segments) {
      const greatest = segment.live === 0 ? 0 : units * Math.max(segment.greatestOf(column), -segment.leastOf(column))
      if (greatest >= UNITS_MAX) return false
      sum += Math.max(greatest, 0) * segment.live
    }
    return sum < SUM_MAX
  }

  private numbersOf(column: number, { kind }: Property, period: GroupKey['period']): KeyNumbers | null {
    if (column < 0) return null
    const [least, greatest] = this.rangeOf(column)
    const dictionary = this.coded.rowCodes.dictionaries[column]
    if (dictionary) return new WholeNumbers(column, 0, dictionary.size - 1)
    const isAnyValue = least <= greatest
    if (period !== null && isAnyValue) {
      const unit = kind.name === 'instant' ? DAY : 1
      const isBounded = greatest - least <= PERIODS_DAYS * unit
      return isBounded ? new PeriodNumbers(this.memory, column, period, unit, [least, greatest]) : null
    }
    const isWhole = isAnyValue && greatest - least < WHOLE_MAX && this.store.segments.every(({ isWide }) => !isWide[column])
    return isWhole ? new WholeNumbers(column, 1 - least, greatest) : new CodeNumbers(column)
  }

  /** -1: some values have no code. */
  private columnOf(property: Property): number {
    const column = this.coded.entity.properties.indexOf(property)
    return (this.coded.uncoded[column] as number) > 0 ? -1 : column
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

  private printerOf(column: number): Printer {
    return this.coded.rowCodes.printers[column] as Printer
  }
}
