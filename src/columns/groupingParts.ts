// Plan of a summary in columns: how each key is numbered, and whether each figure is exact. grouping.ts carries it out.
import type { Property } from '../model/entity.ts'
import type { Figure, GroupKey, SummaryQuery } from '../model/summary.ts'
import { DAY } from './codes.ts'
import { type Coded, ranksOf } from './conditions.ts'
import { Extremes, type FigureValues, GroupRecords, Sums } from './groupFigures.ts'
import type { GroupedKey, GroupingParts } from './grouping.ts'
import { type GroupKeyEncoder, HashedKey, IntegerKey, PeriodNumbers } from './groupKeys.ts'
import type { Reservations } from './kernel.ts'
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
  query: SummaryQuery,
): Pick<GroupingParts, 'keys' | 'records' | 'figures'> | null {
  const { entity, rowCodes, uncoded } = coded
  const summed = query.figures.flatMap(({ name, property }) => (name === 'sum' ? [property] : []))
  const records = new GroupRecords(memory, summed.length)

  const keyOf = ({ property, period }: GroupKey): GroupedKey | null => {
    const column = entity.properties.indexOf(property)
    const ranks = ranksOf(coded, column)
    if (ranks === undefined || uncoded[column] > 0) return null
    const numbers = rowCodes.dictionaries[column]
      ? new IntegerKey(column, 0, rowCodes.dictionaries[column].size - 1)
      : numbersOf(memory, store, column, property, period)
    return numbers && { numbers, ranks, printer: rowCodes.printers[column] }
  }
  const figureOf = ({ name, property }: Figure): FigureValues | null => {
    const column = entity.properties.indexOf(property)
    if (uncoded[column] > 0) return null
    const index = summed.indexOf(property)
    const printer = rowCodes.printers[column]
    // Each average has a sum beside it.
    if (name === 'values') return { textOf: (group) => String(records.valuesOf(group, index)) }
    if (name === 'sum')
      return isExact(store, column, 10 ** printer.scale) ? new Sums(records, column, index, printer.scale) : null
    const ranks = ranksOf(coded, column)
    return ranks === undefined ? null : new Extremes(column, name === 'maximum', ranks, printer)
  }

  const own = { keys: query.keys.map(keyOf), figures: query.figures.map(figureOf) }
  if ([...own.keys, ...own.figures].includes(null)) return null
  return { keys: own.keys as GroupedKey[], records, figures: own.figures as FigureValues[] }
}

/** Returns whether so many units of every code are an integer that a float keeps, and all of them fit into 64 bits. */
function isExact({ segments }: RowStore, column: number, units: number): boolean {
  let sum = 0
  for (const segment of segments) {
    const greatest = segment.live === 0 ? 0 : units * Math.max(segment.greatestOf(column), -segment.leastOf(column))
    if (greatest >= UNITS_MAX) return false
    sum += Math.max(greatest, 0) * segment.live
  }
  return sum < SUM_MAX
}

/** Numbers for values that are not texts; null: they lie too far apart for periods, or are infinite. */
function numbersOf(
  memory: Reservations,
  { segments }: RowStore,
  column: number,
  { kind }: Property,
  period: GroupKey['period'],
): GroupKeyEncoder | null {
  const live = segments.filter((segment) => segment.live > 0)
  // Of codes that are or were there.
  const least = live.reduce((code, segment) => Math.min(code, segment.leastOf(column)), Infinity)
  const greatest = live.reduce((code, segment) => Math.max(code, segment.greatestOf(column)), -Infinity)
  const isAnyValue = least <= greatest
  if (period !== null && isAnyValue) {
    const unit = kind.name === 'instant' ? DAY : 1
    const isBounded = greatest - least <= PERIODS_DAYS * unit
    return isBounded ? new PeriodNumbers(memory, column, period, unit, [least, greatest]) : null
  }
  const isWhole = isAnyValue && greatest - least < WHOLE_MAX && segments.every(({ isWide }) => !isWide[column])
  return isWhole ? new IntegerKey(column, 1 - least, greatest) : new HashedKey(column)
}
