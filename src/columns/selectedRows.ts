// Rows of one segment that a summary takes in: their numbers, and their columns as floats.
import type { Kernel } from './kernel.ts'
import type { Segment } from './segment.ts'

/** Rows whose bits are set in the bitmap at the address `bits`. */
export class SelectedRows {
  private gathered: Int32Array | null = null

  constructor(
    readonly kernel: Kernel,
    readonly segment: Segment,
    readonly bits: number,
  ) {}

  /** Their numbers in the segment; they hold until the next segment's. */
  get numbers(): Int32Array {
    if (this.gathered === null) {
      const { wasm, scratch, words } = this.kernel
      const end = wasm.gather(this.bits, this.segment.bitmapBytes, 0, scratch.selected)
      this.gathered = words.subarray(scratch.selected >> 2, end >> 2)
    }
    return this.gathered
  }

  /** The address of a column as floats, which hold until the next call; NaN: no value. */
  floatsOf(column: number): number {
    const { wasm, scratch } = this.kernel
    const { segment } = this
    const address = segment.addresses[column]
    if (segment.isWide[column]) return address
    wasm.widen(address, segment.rows, scratch.column)
    return scratch.column
  }
}
