import type { Row } from '../model/sql.ts'
import type { RowCodes } from './rowCodes.ts'
import type { Slots } from './slots.ts'

/** A page that was found in columns. To be read at once: it holds until a row of the table changes. */
export class FoundPage {
  constructor(
    /** Of the list. */
    readonly total: number,
    /** The slots of the page's rows, in their order. */
    private readonly found: readonly number[],
    private readonly slots: Slots,
    private readonly rowCodes: RowCodes,
  ) {}

  get ids(): number[] {
    return this.found.map((slot) => this.slots.codeAt(slot, 0))
  }

  /** As PostgreSQL prints them, each behind one value more, as in what a statement of a list answers. */
  get rows(): Row[] {
    const codes = new Float64Array(this.rowCodes.codes.length)
    return this.found.map((slot) => {
      this.slots.read(slot, codes)
      return this.rowCodes.print(codes)
    })
  }
}
