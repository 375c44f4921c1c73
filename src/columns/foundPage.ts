import type { CodedRows } from '../respond/codedRows.ts'
import type { JsonWriter } from '../respond/jsonWriter.ts'
import type { Printer } from './printers.ts'
import type { RowCodes } from './rowCodes.ts'
import type { SegmentedRows } from './segmentedRows.ts'

/** A page that was found in columns. To be read at once: it holds until a row of the table changes. */
export class FoundPage {
  constructor(
    /** Of the list. */
    readonly total: number,
    /** The slots of the page's rows, in their order. */
    private readonly found: readonly number[],
    private readonly from: SegmentedRows,
    private readonly rowCodes: RowCodes,
  ) {}

  get ids(): number[] {
    return this.found.map((slot) => this.from.codeAt(slot, 0))
  }

  /** These are as they were, whatever changes. */
  get rows(): CodedRows {
    const { found, from } = this
    const { printers } = this.rowCodes
    const codes = new Float64Array(printers.length * found.length)
    from.readAll(found, codes)
    return new FoundRows(found.length, codes, printers)
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
