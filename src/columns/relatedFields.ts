// Copies values of related rows that a page shows, since the tables of these rows may change later. Finds the related rows by the
// references of the page's rows.
import type { Property, View } from '../model/entity.ts'
import type { JsonWriter } from '../model/jsonWriter.ts'
import type { CodedRows } from '../respond/page.ts'
import type { Code } from './codes.ts'
import { copyColumn, copyRelatedCodes } from './columnCopy.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import type { ConditionBitmaps } from './conditionBitmaps.ts'
import type { Coded, Reason } from './conditions.ts'
import { type GroupedTable, groupedColumn } from './groupedColumn.ts'
import { idRangeOf } from './idSet.ts'
import { type Indexes, IndexMissing } from './indexes.ts'
import type { UncodedValues } from './rowCodes.ts'
import type { TableConditions } from './tableConditions.ts'
import type { CopyOfColumn, LookedUp, RelatedColumn, RowLookUp, Tables } from './tables.ts'

interface LookUpParts {
  readonly coded: Coded
  readonly store: ColumnStore
  readonly indexes: Indexes
  readonly bitmaps: ConditionBitmaps
  readonly conditions: TableConditions
  readonly uncodedRows: ReadonlyMap<number, UncodedValues>
  readonly grouped: GroupedTable
}

/** A reference that was followed from the rows `from` to the rows `rows`. */
interface Step {
  readonly from: LookedUp
  readonly reference: Property
  readonly view: View
  readonly rows: LookedUp
}

/** Finds rows of a table by their ids. */
export class TableLookUp implements RowLookUp {
  constructor(private readonly parts: LookUpParts) {}

  /**
   * Returns the values of related properties for rows of the table, or the reason why codes cannot give them. @throws KernelFull;
   * IndexMissing
   */
  columnsOf(slots: ArrayLike<number>, properties: readonly Property[], tables: Tables): RelatedColumn[] | Reason {
    const own: LookedUp = { table: this, slots: Int32Array.from(slots) }
    const steps: Step[] = []
    const columns: RelatedColumn[] = []
    for (const property of properties) {
      let rows = own
      let last = property
      for (; last.related !== null; last = last.related.property) {
        const { reference, view } = last.related
        const from = rows
        const known = steps.find((step) => step.from === from && step.reference === reference && step.view === view)
        const next = known?.rows ?? from.table.follow(from.slots, reference, view, tables)
        if (typeof next === 'string') return next
        if (known === undefined) steps.push({ from, reference, view, rows: next })
        rows = next
      }
      columns.push(rows.table.valuesOf(rows.slots, last))
    }
    return columns
  }

  slotOf(id: number): number {
    return this.parts.indexes.slotOf(id)
  }

  follow(slots: Int32Array, reference: Property, view: View, tables: Tables): LookedUp | Reason {
    const { coded, store } = this.parts
    const column = coded.entity.properties.indexOf(reference)
    if (coded.uncoded[column] > 0) return 'values'
    const other = tables(view.table)
    if (other === undefined) return 'related'
    const table = other.lookUp
    const isVisible = table.testOf(view, tables)
    if (typeof isVisible === 'string') return isVisible
    const found = slots.map((slot) => {
      const id = slot < 0 ? Number.NaN : Number(store.codeAt(slot, column))
      const own = Number.isNaN(id) ? -1 : table.slotOf(id)
      return own >= 0 && isVisible(own) ? own : -1
    })
    return { table, slots: found }
  }

  testOf({ filters }: View, tables: Tables): ((slot: number) => boolean) | Reason {
    const { bitmaps, conditions } = this.parts
    const own = conditions.of(filters, tables)
    if (typeof own === 'string') return own
    const tests = own.map((condition) => bitmaps.testFor(condition))
    return (slot) => tests.every((test) => test(slot))
  }

  copyOf(property: Property, view: View, tables: Tables): CopyOfColumn | Reason {
    const { coded, store, bitmaps, conditions, grouped } = this.parts
    const range = idRangeOf(store)
    if (range === null) return 'related'
    const own = conditions.of(view.filters, tables)
    if (typeof own === 'string') return own
    const relatedColumn = this.relatedColumn(property, tables)
    if (typeof relatedColumn === 'string') return relatedColumn
    const column = relatedColumn === null ? groupedColumn(grouped, property) : relatedColumn.column
    if (column === null) return 'values'
    const buffers = [store.reserveBitmap(), store.reserveBitmap()] as const
    try {
      const rows = bitmaps.rowsOf(own, ...buffers)
      if (rows === null) throw new IndexMissing()
      if (relatedColumn === null) return { codes: copyColumn(store, rows, range, column.number), column }
      const reference = coded.entity.properties.indexOf(property.related?.reference as Property)
      return { codes: copyRelatedCodes(store, rows, range, reference, relatedColumn.codes), column }
    } finally {
      for (const bits of buffers) store.freeBitmap(bits)
    }
  }

  /** Returns the codes of a related property; null if the property belongs to this table. */
  private relatedColumn({ related }: Property, tables: Tables): CopyOfColumn | Reason | null {
    if (related === null) return null
    const { coded } = this.parts
    if (coded.uncoded[coded.entity.properties.indexOf(related.reference)] > 0) return 'values'
    const other = tables(related.view.table)
    return other === undefined ? 'related' : other.lookUp.copyOf(related.property, related.view, tables)
  }

  valuesOf(slots: Int32Array, property: Property): RelatedColumn {
    const { coded, store, uncodedRows } = this.parts
    const column = coded.entity.properties.indexOf(property)
    const codes: Code[] = []
    const uncoded: (string | undefined)[] = []
    for (const slot of slots) {
      codes.push(slot < 0 ? Number.NaN : store.codeAt(slot, column))
      if (uncodedRows.size > 0) uncoded.push(slot < 0 ? undefined : uncodedRows.get(Number(store.codeAt(slot, ID)))?.get(column))
    }
    return { printer: coded.rowCodes.printers[column], codes, uncoded }
  }
}

/** Rows of a page, with additional columns after the columns of their table: the values of related properties. */
export class RowsWithRelated implements CodedRows {
  /** `columns`: number of columns of the rows' table. */
  constructor(
    private readonly rows: CodedRows,
    private readonly columns: number,
    private readonly related: readonly RelatedColumn[],
  ) {}

  get length(): number {
    return this.rows.length
  }

  print(index: number, column: number): string | null {
    if (column < this.columns) return this.rows.print(index, column)
    const { printer, codes, uncoded } = this.related[column - this.columns]
    return uncoded[index] ?? printer.print(codes[index])
  }

  hasValue(index: number, column: number): boolean {
    return this.print(index, column) !== null
  }

  write(index: number, column: number, into: JsonWriter): void {
    if (column < this.columns) {
      this.rows.write(index, column, into)
      return
    }
    const { printer, codes, uncoded } = this.related[column - this.columns]
    const text = uncoded[index]
    if (text === undefined) printer.write(codes[index], into)
    else printer.writeText(text, into)
  }
}
