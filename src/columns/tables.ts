// The tables that a list or summary needs besides its own: those to which its paths lead.
import type { Filter, Property, View } from '../model/entity.ts'
import type { Code } from './codes.ts'
import type { Reason, ReferredRows } from './conditions.ts'
import type { GroupedColumn } from './groupedColumn.ts'
import type { Printer } from './printers.ts'
import type { CodesById } from './relatedColumns.ts'
import type { TableTexts } from './tableTexts.ts'

/** Returns the table with a name, as of the same snapshot as all others; undefined: the table is not in memory. */
export type Tables = (name: string) => OtherTable | undefined

export const NO_TABLES: Tables = () => undefined

/** A table in memory; a `ColumnTable` is one. */
interface OtherTable {
  readonly texts: TableTexts
  readonly conditions: RowConditions
  readonly lookUp: RowLookUp
}

export interface RowConditions {
  /**
   * Returns the rows that match all of `filters`, except those that also match all of `but`, if it has filters; or the reason why
   * they cannot be found.
   */
  rowsOf(filters: readonly Filter[], but: readonly Filter[], tables: Tables): ReferredRows | Reason
}

/** Finds rows by their ids. Slots of -1 are none. */
export interface RowLookUp {
  /** Returns the slot of an id's row. */
  slotOf(id: number): number
  /** Returns a test of whether a view shows a row; or why codes cannot tell. @throws KernelFull; IndexMissing */
  testOf(view: View, tables: Tables): ((slot: number) => boolean) | Reason
  /** Returns the rows to which some rows refer, if a view shows them. @throws as `testOf` */
  follow(slots: Int32Array, reference: Property, view: View, tables: Tables): LookedUp | Reason
  /** Copies the codes of a property of all rows, by their ids; or says why it cannot. @throws as `testOf` */
  copyOf(property: Property, view: View, tables: Tables): CopyOfColumn | Reason
  /** Copies values of some rows. */
  valuesOf(slots: Int32Array, property: Property): RelatedColumn
}

/** Codes of a property by the ids of rows as a view shows them, and the column that they were copied from. */
export interface CopyOfColumn {
  readonly codes: CodesById
  readonly column: GroupedColumn
}

/** Rows of a table, by their slots. */
export interface LookedUp {
  readonly table: RowLookUp
  readonly slots: Int32Array
}

/** Values of a related property, one for each row of a page. */
export interface RelatedColumn {
  readonly printer: Printer
  /** Codes of the values; NaN: the row has no value. */
  readonly codes: readonly Code[]
  /** Values without a code, as PostgreSQL prints them. */
  readonly uncoded: readonly (string | undefined)[]
}
