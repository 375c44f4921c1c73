import type { CodedRows } from '../respond/codedRows.ts'
import type { JsonWriter } from '../respond/jsonWriter.ts'
import type { Printer } from './printers.ts'
import type { RowCodes } from './rowCodes.ts'
import type { SegmentedRows } from './segmentedRows.ts'

/**
 * A page that was found in columns. Its codes are copied at once: whatever becomes of the table, and of the memory that it lay
 * in, the page stays what it was when it was found.
 */
export class FoundPage {
  readonly rows: CodedRows
  private readonly codes: Float64Array

  constructor(
    /** Of the list. */
    readonly total: number,
    /** The slots of the page's rows, in their order. */
    found: readonly number[],
    from: SegmentedRows,
    { printers }: RowCodes,
  ) {
    this.codes = new Float64Array(printers.length * found.length)
    from.readAll(found, this.codes)
    this.rows = new FoundRows(found.length, this.codes, printers)
  }

  /** The first code of each row. */
  get ids(): number[] {
    const { codes, rows } = this
    const places = codes.length / rows.length
    return Array.from({ length: rows.length }, (_, index) => codes[index * places] as number)
  }
}

class FoundRows implements CodedRows {
  private readonly places: number

  constructor(
    readonly length: number,
    /** Of one row behind the other. */
    private readonly codes: Float64Array,
    private readonly printers: readonly Printer[],
  ) {
    this.places = printers.length
  }

  print(index: number, place: number): string | null {
    return (this.printers[place] as Printer).print(this.codes[index * this.places + place] as number)
  }

  hasValue(index: number, place: number): boolean {
    return (this.printers[place] as Printer).hasValue(this.codes[index * this.places + place] as number)
  }

  write(index: number, place: number, into: JsonWriter): void {
    ;(this.printers[place] as Printer).write(this.codes[index * this.places + place] as number, into)
  }
}
