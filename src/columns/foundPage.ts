// A page that was found in columns: copies the codes of its rows, and prints them for the JSON writers.
import type { Row } from '../model/sql.ts'
import type { JsonWriter } from '../respond/jsonWriter.ts'
import type { CodedRows } from '../respond/page.ts'
import type { Printer } from './printers.ts'
import { ID, type RowStore } from './rowStore.ts'

export interface FoundPage {
  /** Rows of the list. */
  readonly total: number
  readonly rows: CodedRows
}

/** Rows of a page, which stay the same when the table changes. */
export class FoundRows implements CodedRows {
  readonly length: number
  /** One row after the other. */
  private readonly codes: Float64Array
  private readonly uncoded: readonly (Row | undefined)[]

  /** `slots`: of the rows, in their order. `uncodedRow`: the row of an id as PostgreSQL prints it, if a value has no code. */
  constructor(
    slots: readonly number[],
    store: RowStore,
    private readonly printers: readonly Printer[],
    uncodedRow: (id: number) => Row | undefined,
  ) {
    const { length } = slots
    this.length = length
    this.codes = new Float64Array(printers.length * length)
    store.readAll(slots, this.codes)
    this.uncoded = Array.from({ length }, (_, index) => uncodedRow(this.codeAt(index, ID)))
  }

  print(index: number, column: number): string | null {
    const row = this.uncoded[index]
    return row ? (row[column] as string | null) : this.printerOf(column).print(this.codeAt(index, column))
  }

  hasValue(index: number, column: number): boolean {
    const row = this.uncoded[index]
    return row ? row[column] !== null : this.printerOf(column).hasValue(this.codeAt(index, column))
  }

  write(index: number, column: number, into: JsonWriter): void {
    const row = this.uncoded[index]
    if (row) this.printerOf(column).writeText(row[column] as string | null, into)
    else this.printerOf(column).write(this.codeAt(index, column), into)
  }

  private printerOf(column: number): Printer {
    return this.printers[column] as Printer
  }

  private codeAt(index: number, column: number): number {
    return this.codes[index * this.printers.length + column] as number
  }
}
