// A page that was found in memory: copies the codes of its rows, and prints their values for the JSON writers.
import type { JsonWriter } from '../model/jsonWriter.ts'
import type { CodedRows } from '../respond/page.ts'
import type { Code } from './codes.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import type { Printer } from './printers.ts'
import type { UncodedValues } from './rowCodes.ts'

/** Rows of a page, which stay the same when the table changes. */
export class FoundRows implements CodedRows {
  readonly length: number
  /** Codes of the rows, row after row. */
  private readonly codes: Float64Array
  /** Codes beyond 2^53, by their index in `codes`. */
  private readonly large = new Map<number, bigint>()
  private readonly uncoded: readonly (UncodedValues | undefined)[]

  /** `slots`: the slots of the rows, in the order of the page. `uncoded`: values without a code, by the id of their row. */
  constructor(
    slots: ArrayLike<number>,
    store: ColumnStore,
    private readonly printers: readonly Printer[],
    uncoded: ReadonlyMap<number, UncodedValues>,
  ) {
    const { length } = slots
    this.length = length
    this.codes = new Float64Array(printers.length * length)
    store.readAll(slots, this.codes, this.large)
    this.uncoded = uncoded.size === 0 ? [] : Array.from({ length }, (_, index) => uncoded.get(Number(this.codeAt(index, ID))))
  }

  print(index: number, column: number): string | null {
    return this.uncoded[index]?.get(column) ?? this.printerOf(column).print(this.codeAt(index, column))
  }

  hasValue(index: number, column: number): boolean {
    return this.uncoded[index]?.has(column) || !Number.isNaN(this.codeAt(index, column) as number)
  }

  write(index: number, column: number, into: JsonWriter): void {
    const text = this.uncoded[index]?.get(column)
    if (text !== undefined) this.printerOf(column).writeText(text, into)
    else this.printerOf(column).write(this.codeAt(index, column), into)
  }

  private printerOf(column: number): Printer {
    return this.printers[column]
  }

  private codeAt(index: number, column: number): Code {
    const cell = index * this.printers.length + column
    return this.large.size === 0 ? this.codes[cell] : (this.large.get(cell) ?? this.codes[cell])
  }
}
