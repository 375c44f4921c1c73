// A column by which rows are grouped, or whose figures are computed. It belongs to the summary's table, or to a table to which
// the rows of the summary's table refer.
import type { Entity, Property } from '../model/entity.ts'
import type { ColumnStore } from './columnStore.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import type { ReadRanks } from './groupFigures.ts'
import type { Printer } from './printers.ts'
import type { RowCodes } from './rowCodes.ts'

/** A table whose rows are grouped, or by whose values the rows of another table are grouped. */
export interface GroupedTable {
  readonly entity: Entity
  readonly store: ColumnStore
  readonly rowCodes: Pick<RowCodes, 'dictionaries' | 'printers'>
  /** Number of rows that have a value without a code, by column. */
  readonly uncoded: ArrayLike<number>
  /**
   * Returns a function that reads the ranks of a column's texts; null if the column has no texts, undefined if their order is not
   * known.
   */
  ranksOf(column: number): ReadRanks | null | undefined
}

export interface GroupedColumn {
  /** Number of the column among the columns of `SelectedRows`. */
  readonly number: number
  /** Bounds of the finite codes that the column has or had. */
  readonly least: number
  readonly greatest: number
  readonly isInfinite: boolean
  /** Number that is one more than the greatest code of the column's texts; null if it has no texts. */
  readonly textCodesEnd: number | null
  /** Reader as `GroupedTable.ranksOf` returns it; also undefined if a text has no rank yet. */
  readonly readRanks: ReadRanks | null | undefined
  readonly printer: Printer
}

/** Describes a column of a table. Returns null if some values of the column have no code. */
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
  // The empty text needs no rank: its 0 is less than the rank of any other text.
  const unplaced = ranks.indexOf(0, EMPTY_TEXT + 1)
  return size > ranks.length || (unplaced >= 0 && unplaced < size) ? undefined : readRanks
}
