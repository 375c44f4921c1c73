// Plan of a summary in columns: how each key is numbered, and whether each figure is exact. grouping.ts carries it out.
import type { Entity, Property } from '../model/entity.ts'
import type { Figure, GroupKey, SummaryQuery } from '../model/summary.ts'
import { DAY } from './codes.ts'
import type { ColumnStore } from './columnStore.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import { Extremes, type FigureValues, GroupRecords, type ReadRanks, Sums, TextExtremes } from './groupFigures.ts'
import type { GroupedKey, GroupingParts } from './grouping.ts'
import { type GroupKeyEncoder, HashedKey, IntegerKey, PeriodNumbers } from './groupKeys.ts'
import type { Reservations } from './kernel.ts'
import type { RowCodes } from './rowCodes.ts'

/** Days of the years 1 to 9999; a range with infinite dates is longer. */
const PERIODS_DAYS = 366 * 10_000
/** Maximum codes of a key whose codes are its numbers; those of a larger key are numbered as they come. */
const CODES_MAX = 2 ** 30
/** Maximum of a sum, so that it fits into 64 bits although its bound is rounded. */
const SUM_MAX = 2 ** 62

/** A table whose rows are grouped. */
export interface GroupedTable {
  readonly entity: Entity
  readonly store: ColumnStore
  readonly rowCodes: Pick<RowCodes, 'dictionaries' | 'printers'>
  /** By column, how many rows have a value without a code. */
  readonly uncoded: ArrayLike<number>
  /** Reads the ranks of a column's texts; null: it has no texts. Undefined: their order is not known. */
  ranksOf(column: number): ReadRanks | null | undefined
}

/** Returns the parts of a grouping; null: codes cannot decide its groups or figures. */
export function groupingParts(
  table: GroupedTable,
  memory: Reservations,
  query: SummaryQuery,
): Pick<GroupingParts, 'keys' | 'records' | 'figures'> | null {
  const { entity, store, rowCodes, uncoded } = table
  const summed = query.figures.flatMap(({ name, property }) => (name === 'sum' ? [property] : []))
  const records = new GroupRecords(memory, summed.length)

  const keyOf = ({ property, period }: GroupKey): GroupedKey | null => {
    const column = entity.properties.indexOf(property)
    const readRanks = ranksOfAll(table, column)
    if (readRanks === undefined || uncoded[column] > 0) return null
    const dictionary = rowCodes.dictionaries[column]
    // Texts that come later are not in a row that is to be taken.
    const numbers = dictionary
      ? new IntegerKey(column, EMPTY_TEXT, dictionary.size - 1)
      : numbersOf(memory, store, column, property, period)
    return numbers && { numbers, readRanks, printer: rowCodes.printers[column] }
  }
  const figureOf = ({ name, property }: Figure): FigureValues | null => {
    const column = entity.properties.indexOf(property)
    if (uncoded[column] > 0) return null
    const index = summed.indexOf(property)
    const printer = rowCodes.printers[column]
    // Each average has a sum beside it.
    if (name === 'values') return { textOf: (group) => String(records.valuesOf(group, index)) }
    if (name === 'sum') return isExact(store, column) ? new Sums(records, column, index, printer.scale) : null
    const readRanks = ranksOfAll(table, column)
    if (readRanks === undefined) return null
    const isLeast = name === 'minimum'
    return readRanks ? new TextExtremes(column, isLeast, readRanks, printer) : new Extremes(memory, column, isLeast, printer)
  }

  const own = { keys: query.keys.map(keyOf), figures: query.figures.map(figureOf) }
  if ([...own.keys, ...own.figures].includes(null)) return null
  return { keys: own.keys as GroupedKey[], records, figures: own.figures as FigureValues[] }
}

/** As `ranksOf`; also undefined if a text has no rank yet. */
function ranksOfAll(table: GroupedTable, column: number): ReadRanks | null | undefined {
  const readRanks = table.ranksOf(column)
  if (!readRanks) return readRanks
  const ranks = readRanks()
  const size = table.rowCodes.dictionaries[column]?.size ?? 0
  // The empty text needs no rank: 0 is less than that of any other.
  const unplaced = ranks.indexOf(0, EMPTY_TEXT + 1)
  return size > ranks.length || (unplaced >= 0 && unplaced < size) ? undefined : readRanks
}

/** Returns whether the sums of all rows fit into 64 bits. */
function isExact(store: ColumnStore, column: number): boolean {
  const greatest = Math.max(store.greatestOf(column), -store.leastOf(column), 0)
  return !store.hasInfinite(column) && greatest * store.rows < SUM_MAX
}

/** Returns the key encoder of values that are not texts; null: they are infinite, or too far apart for periods. */
function numbersOf(
  memory: Reservations,
  store: ColumnStore,
  column: number,
  { kind }: Property,
  period: GroupKey['period'],
): GroupKeyEncoder | null {
  // Of codes that are or were there.
  const least = store.leastOf(column)
  const greatest = store.greatestOf(column)
  const isInfinite = store.hasInfinite(column)
  if (period !== null && (isInfinite || least <= greatest)) {
    const unit = kind.name === 'instant' ? DAY : 1
    const isBounded = !isInfinite && greatest - least <= PERIODS_DAYS * unit
    return isBounded ? new PeriodNumbers(memory, column, period, unit, [least, greatest]) : null
  }
  const isRange = !isInfinite && greatest - least < CODES_MAX && Number.isSafeInteger(least) && Number.isSafeInteger(greatest)
  return isRange ? new IntegerKey(column, least, greatest) : new HashedKey(column)
}
