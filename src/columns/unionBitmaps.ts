// Bitmaps of unions. The bitmaps of alternatives with many rows are or-ed. Then the rows of alternatives with few rows are added
// one by one.
import type { Rows } from './bitmapWriter.ts'
import type { ColumnStore } from './columnStore.ts'
import type { Condition, UnionCondition } from './conditions.ts'
import type { Narrowed, NarrowRows } from './narrowRows.ts'

/** Maximum number of rows of an alternative that are added one by one. */
const ADDED_MAX = 1_024
const ADDED_BYTES = 4 * ADDED_MAX

/** Candidates of each alternative that has few rows; null for an alternative with many rows. */
type Few = readonly (Narrowed | null)[]

export class UnionBitmaps {
  constructor(
    private readonly store: ColumnStore,
    private readonly narrow: NarrowRows,
    /**
     * Returns the rows that meet all conditions; null if an index is missing. `result`, `other`: as in `ConditionBitmaps.rowsOf`.
     */
    private readonly rowsOf: (conditions: readonly Condition[], result: number, other: number) => Rows | null,
  ) {}

  /** @throws KernelFull; IndexMissing */
  fewOf({ either }: UnionCondition): Few {
    return either.map((conditions) => this.narrow.leastOf(conditions, ADDED_MAX))
  }

  /**
   * Writes the bitmap of a union. Returns null if an index is missing. `few`: the result of `fewOf`; null if no alternative has
   * few rows. @throws KernelFull; IndexMissing
   */
  make({ either }: UnionCondition, few: Few | null, to: number): Rows | null {
    const added = (few ?? []).filter((one) => one !== null)
    const rows = this.orAll(
      either.filter((_, at) => !few?.[at]),
      to,
    )
    if (rows === null) return null
    let { count } = rows
    for (const narrowed of added) count += this.add(narrowed, to)
    return { bits: to, count }
  }

  /** Writes a bitmap of the rows that meet all conditions of at least one list. */
  private orAll(lists: readonly (readonly Condition[])[], to: number): Rows | null {
    const { store } = this
    const { kernel, bitmapBytes } = store
    if (lists.length === 0) {
      kernel.words.fill(0, to >>> 2, (to + bitmapBytes) >>> 2)
      return { bits: to, count: 0 }
    }
    const buffers = [store.reserveBitmap(), store.reserveBitmap()] as const
    let rows: Rows = { bits: store.liveBits, count: 0 }
    let isFirst = true
    try {
      for (const conditions of lists) {
        const own = this.rowsOf(conditions, isFirst ? to : buffers[0], buffers[1])
        if (own === null) return null
        rows = isFirst ? own : { bits: to, count: kernel.wasm.or(rows.bits, own.bits, to, bitmapBytes) }
        isFirst = false
      }
    } finally {
      for (const bits of buffers) store.freeBitmap(bits)
    }
    if (rows.bits !== to) kernel.words.copyWithin(to >>> 2, rows.bits >>> 2, (rows.bits + bitmapBytes) >>> 2)
    return { bits: to, count: rows.count }
  }

  /** Sets the bits of a few rows. Returns how many of these bits were not set before. */
  private add(narrowed: Narrowed, to: number): number {
    const { words } = this.store.kernel
    return this.withSlots(narrowed, (slots) => {
      let added = 0
      for (const slot of slots) {
        const word = (to >>> 2) + (slot >> 5)
        const bit = 1 << (slot & 31)
        if ((words[word] & bit) === 0) added++
        words[word] |= bit
      }
      return added
    })
  }

  /**
   * Returns the slots of the rows that meet all conditions; null if there may be more than `ADDED_MAX` rows. @throws as `fewOf`
   */
  slotsOf(conditions: readonly Condition[]): Int32Array | null {
    const narrowed = this.narrow.leastOf(conditions, ADDED_MAX)
    return narrowed && this.withSlots(narrowed, (slots) => slots.slice())
  }

  private withSlots<Result>(narrowed: Narrowed, use: (slots: Int32Array) => Result): Result {
    const { kernel } = this.store
    const address = kernel.reserve(ADDED_BYTES)
    try {
      const count = this.narrow.gather(narrowed, address)
      return use(kernel.words.subarray(address >>> 2, (address >>> 2) + count))
    } finally {
      kernel.free(address, ADDED_BYTES)
    }
  }
}
