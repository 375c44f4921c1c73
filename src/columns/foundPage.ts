// A page that was found in columns: copies the codes of its rows, and prints them for the JSON writers.
import type { JsonWriter } from '../model/jsonWriter.ts'
import type { CodedRows } from '../respond/page.ts'
import type { Printer } from './printers.ts'
import type { UncodedValues } from './rowCodes.ts'
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
  private readonly uncoded: readonly (UncodedValues | undefined)[]

  /** `slots`: of the rows, in their order. `uncoded`: values without a code, by id. */
  constructor(
    slots: readonly number[],
    store: RowStore,
    private readonly printers: readonly Printer[],
    uncoded: ReadonlyMap<number, UncodedValues>,
  ) {
    const { length } = slots
    this.length = length
    this.codes = new Float64Array(printers.length * length)
    store.readAll(slots, this.codes)
    this.uncoded = uncoded.size === 0 ? [] : Array.from({ length }, (_, index) => uncoded.get(this.codeAt(index, ID)))
  }

  print(index: number, column: number): string | null {
    return this.uncoded[index]?.get(column) ?? this.printerOf(column).print(this.codeAt(index, column))
  }

  hasValue(index: number, column: number): boolean {
    return this.uncoded[index]?.has(column) || !Number.isNaN(this.codeAt(index, column))
  }

  write(index: number, column: number, into: JsonWriter): void {
    const text = this.uncoded[index]?.get(column)
    if (text !== undefined) this.printerOf(column).writeText(text, into)
    else this.printerOf(column).write(this.codeAt(index, column), into)
  }

  private printerOf(column: number): Printer {
    return this.printers[column]
  }

  private codeAt(index: number, column: number): number {
    return this.codes[index * this.printers.length + column]
  }
}
