// A column by which rows are grouped, or of which figures are computed: one of the table, or one of the rows behind a reference.
import type { Entity, Property } from '../model/entity.ts'
import type { ColumnStore } from './columnStore.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import type { ReadRanks } from './groupFigures.ts'
import type { Printer } from './printers.ts'
import type { RowCodes } from './rowCodes.ts'

/** A table whose rows are grouped, or whose values others are grouped by. */
export interface GroupedTable {
  readonly entity: Entity
  readonly store: ColumnStore
  readonly rowCodes: Pick<RowCodes, 'dictionaries' | 'printers'>
  /** By column, how many rows have a value without a code. */
  readonly uncoded: ArrayLike<number>
  /** Reads the ranks of a column's texts; null: it has no texts. Undefined: their order is not known. */
  ranksOf(column: number): ReadRanks | null | undefined
}

export interface GroupedColumn {
  /** The number of the column among those of `SelectedRows`. */
  readonly number: number
  /** Bounds of the finite codes that are or were there. */
  readonly least: number
  readonly greatest: number
  readonly isInfinite: boolean
  /** One more than the greatest code of its texts; null: it has none. */
  readonly textCodesEnd: number | null
  /** As `GroupedTable.ranksOf`; also undefined if a text has no rank yet. */
  readonly readRanks: ReadRanks | null | undefined
  readonly printer: Printer
}

/** Describes a column of a table; null: some of its values have no code. */
export function groupedColumn(table: GroupedTable, property: Property): GroupedColumn | null {
  const { entity, store, rowCodes, uncoded } = table
  const column = entity.properties.indexOf(property)
  if (uncoded[column] > 0) return null
  return {
    number: column,
    least: store.leastOf(column),
    greatest: store.greatestOf(column),
    isInfinite: store.hasInfinite(column),
    textCodesEnd: rowCodes.dictionaries[column]?.size ?? null,
    readRanks: ranksOfAll(table, column),
    printer: rowCodes.printers[column],
  }
}

function ranksOfAll(table: GroupedTable, column: number): ReadRanks | null | undefined {
  const readRanks = table.ranksOf(column)
  if (!readRanks) return readRanks
  const ranks = readRanks()
  const size = table.rowCodes.dictionaries[column]?.size ?? 0
  // The empty text needs no rank: 0 is less than that of any other.
  const unplaced = ranks.indexOf(0, EMPTY_TEXT + 1)
  return size > ranks.length || (unplaced >= 0 && unplaced < size) ? undefined : readRanks
}
