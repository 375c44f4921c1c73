// Interfaces of the tables to which the paths of a list or summary lead.
import type { Filter, Property, View } from '../model/entity.ts'
import type { Code } from './codes.ts'
import type { Reason, ReferredRows } from './conditions.ts'
import type { GroupedColumn } from './groupedColumn.ts'
import type { Printer } from './printers.ts'
import type { CodesById } from './relatedColumns.ts'
import type { TableTexts } from './tableTexts.ts'

/** Returns the table with a name; undefined if the table is not in memory. All returned tables are as of the same snapshot. */
export type Tables = (name: string) => OtherTable | undefined

export const NO_TABLES: Tables = () => undefined

/** A table in memory. A `ColumnTable` is an `OtherTable`. */
interface OtherTable {
  readonly texts: TableTexts
  readonly conditions: RowConditions
  readonly lookUp: RowLookUp
}

export interface RowConditions {
  /**
   * Returns the rows that match all of `filters`. If `but` has filters, leaves out rows that also match all of these. If codes
   * cannot decide the filters, returns the reason.
   */
  rowsOf(filters: readonly Filter[], but: readonly Filter[], tables: Tables): ReferredRows | Reason
}

/** Finds rows by their ids. A slot of -1 means that there is no row. */
export interface RowLookUp {
  /** Returns the slot of the row with an id; -1 if there is no such row. */
  slotOf(id: number): number
  /**
   * Returns a function that tests whether a view shows a row; or the reason why codes cannot decide the view's filters. @throws
   * KernelFull; IndexMissing
   */
  testOf(view: View, tables: Tables): ((slot: number) => boolean) | Reason
  /**
   * Follows a reference from each slot. Returns the slots of the rows to which it leads, -1 for a row that the view does not
   * show. Returns the reason if codes cannot decide which rows these are. @throws as `testOf`
   */
  follow(slots: Int32Array, reference: Property, view: View, tables: Tables): LookedUp | Reason
  /**
   * Copies the codes of a property for all rows that a view shows, by id. Returns the reason if codes cannot decide the view's
   * filters, or cannot give the values of the property. @throws as `testOf`
   */
  copyOf(property: Property, view: View, tables: Tables): CopyOfColumn | Reason
  /** Copies the values of a property for these rows. */
  valuesOf(slots: Int32Array, property: Property): RelatedColumn
}

/** Codes of a property by the ids of the rows that a view shows, and the column from which the codes were copied. */
export interface CopyOfColumn {
  readonly codes: CodesById
  readonly column: GroupedColumn
}

/** Rows of a table, given by their slots. */
export interface LookedUp {
  readonly table: RowLookUp
  readonly slots: Int32Array
}

/** Values of a related property, one for each row of a page. */
export interface RelatedColumn {
  readonly printer: Printer
  /** Codes of the values; NaN: the row has no value. */
  readonly codes: readonly Code[]
  /**
   * Values without a code, as PostgreSQL prints them; undefined for rows whose value has a code. Empty if the table has no such
   * values.
   */
  readonly uncoded: readonly (string | undefined)[]
}
