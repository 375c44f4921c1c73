// Plan of a summary: the encoder of each key, and whether each figure is exact. grouping.ts computes the groups by this plan.
import type { Property } from '../model/entity.ts'
import type { TemporalName } from '../model/kinds.ts'
import type { Figure, GroupKey, SummaryQuery } from '../model/summary.ts'
import { dayCodes } from './codes.ts'
import type { Reason } from './conditions.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import { type GroupedColumn, type GroupedTable, groupedColumn } from './groupedColumn.ts'
import { Extremes, type FigureValues, GroupRecords, NameCodes, Sums, TextExtremes } from './groupFigures.ts'
import type { GroupedKey, GroupingParts } from './grouping.ts'
import { type GroupKeyEncoder, HashedKey, IntegerKey, PeriodNumbers } from './groupKeys.ts'
import type { Reservations } from './kernel.ts'
import { RelatedColumns } from './relatedColumns.ts'
import type { CopyOfColumn } from './tables.ts'
import { ZonedPeriods } from './zonedPeriods.ts'

/** Days of the years 1 to 9999. If dates have a longer range, PostgreSQL groups them by period. */
const PERIODS_DAYS = 366 * 10_000
/**
 * Maximum range of codes for which the number of a key's value is computed from its code. If codes have a longer range, values
 * are numbered as rows are read.
 */
const CODES_MAX = 2 ** 30
/** Maximum of a sum: half of what fits into 64 bits, because the estimate that is compared with it is a rounded float. */
const SUM_MAX = 2 ** 62

/** Copies the codes of a related property, or returns the reason why that is not possible. */
export type CopyRelated = (property: Property) => CopyOfColumn | Reason

/** Returns the parts of a grouping, or the reason why codes cannot decide its groups or figures. */
export function groupingParts(
  table: GroupedTable,
  memory: Reservations,
  query: SummaryQuery,
  copyRelated: CopyRelated = () => 'related',
): Pick<GroupingParts, 'keys' | 'records' | 'figures' | 'related'> | Reason {
  const columns = new GroupedColumns(table, memory, copyRelated)
  const summed = query.figures.flatMap(({ name, property }) => (name === 'sum' ? [property] : []))
  const named = query.keys.filter(({ names }) => query.keys.some(({ property }) => property === names))
  const records = new GroupRecords(memory, summed.length, named.length)

  const keyOf = (key: GroupKey): GroupedKey | Reason => {
    const { property } = key
    const column = columns.of(property)
    if (typeof column === 'string') return column
    if (column.readRanks === undefined) return 'texts'
    const { number, readRanks, printer, textCodesEnd } = column
    // All rows with the same reference have the same name.
    const name = textCodesEnd === null ? -1 : named.indexOf(key)
    if (name >= 0) return { encoder: null, names: new NameCodes(records, number, name, printer), readRanks, printer }
    // Texts that are added later need no number, because the summary counts a row before the row gets such a text.
    const encoder = textCodesEnd === null ? encoderOf(memory, column, key) : new IntegerKey(number, EMPTY_TEXT, textCodesEnd - 1)
    return encoder === null ? 'values' : { encoder, names: null, readRanks, printer }
  }
  const figureOf = ({ name, property }: Figure): FigureValues | Reason => {
    const column = columns.of(property)
    if (typeof column === 'string') return column
    const { number, printer, readRanks } = column
    const index = summed.indexOf(property)
    // The figure `values` is the count for an average. A query with an average also has the sum of the property, and the records
    // of this sum have the count.
    if (name === 'values') return { textOf: (group) => String(records.valuesOf(group, index)) }
    if (name === 'sum') return isExact(column, table.store.rows) ? new Sums(records, number, index, printer.scale) : 'values'
    if (readRanks === undefined) return 'texts'
    const isLeast = name === 'minimum'
    return readRanks ? new TextExtremes(number, isLeast, readRanks, printer) : new Extremes(memory, number, isLeast, printer)
  }

  const own = { keys: query.keys.map(keyOf), figures: query.figures.map(figureOf) }
  const reason = [...own.keys, ...own.figures].find((one) => typeof one === 'string')
  if (reason !== undefined) return reason
  return { keys: own.keys as GroupedKey[], records, figures: own.figures as FigureValues[], related: columns.related }
}

/** Columns of a table and of the rows to which it refers. Each is described once. */
class GroupedColumns {
  /** Columns of referred rows; null until the first one is added. */
  related: RelatedColumns | null = null
  private readonly known = new Map<Property, GroupedColumn | Reason>()

  constructor(
    private readonly table: GroupedTable,
    private readonly memory: Reservations,
    private readonly copyRelated: CopyRelated,
  ) {}

  /** Returns the column of a property, or the reason why the summary cannot use its codes. @throws KernelFull */
  of(property: Property): GroupedColumn | Reason {
    return this.known.getOrInsertComputed(property, () => {
      const reference = property.related?.reference
      return reference ? this.ofOtherRows(property, reference) : (groupedColumn(this.table, property) ?? 'values')
    })
  }

  private ofOtherRows(property: Property, reference: Property): GroupedColumn | Reason {
    const { entity, store, uncoded } = this.table
    const column = entity.properties.indexOf(reference)
    const copy = uncoded[column] > 0 ? 'values' : this.copyRelated(property)
    if (typeof copy === 'string') return copy
    this.related ??= new RelatedColumns(store, this.memory, store.columns)
    return { ...copy.column, number: this.related.add(column, copy.codes) }
  }
}

/** Returns whether a sum over this many rows fits into 64 bits. */
function isExact({ least, greatest, isInfinite }: GroupedColumn, rows: number): boolean {
  return !isInfinite && Math.max(greatest, -least, 0) * rows < SUM_MAX
}

/** Returns the key encoder of values that are not texts; null if dates or instants are infinite, or too far apart for periods. */
function encoderOf(
  memory: Reservations,
  { number, least, greatest, isInfinite }: GroupedColumn,
  { property: { kind }, period, zone }: GroupKey,
): GroupKeyEncoder | null {
  if (period !== null && (isInfinite || least <= greatest)) {
    const unit = dayCodes[kind.name as TemporalName]
    const isBounded = !isInfinite && greatest - least <= PERIODS_DAYS * unit
    if (!isBounded) return null
    if (zone !== null) return new ZonedPeriods(memory, number, period, zone, least, greatest)
    return new PeriodNumbers(memory, number, period, unit, [least, greatest])
  }
  const isRange = !isInfinite && greatest - least < CODES_MAX && Number.isSafeInteger(least) && Number.isSafeInteger(greatest)
  return isRange ? new IntegerKey(number, least, greatest) : new HashedKey(number)
}
