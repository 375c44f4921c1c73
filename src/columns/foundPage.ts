import type { Row } from '../model/sql.ts'
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

  /** As PostgreSQL prints them, each behind one value more, as in what a statement of a list answers. */
  get rows(): Row[] {
    const codes = new Float64Array(this.rowCodes.codes.length)
    return this.found.map((slot) => {
      this.from.read(slot, codes)
      return this.rowCodes.print(codes)
    })
  }
}
