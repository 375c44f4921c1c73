// Columns of the rows to which the rows of a summary refer. For each run of slots, the codes of these columns are looked up by
// the references.
import type { ColumnStore } from './columnStore.ts'
import type { IdRange } from './idSet.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import { RUN_SLOTS } from './selectedRows.ts'

/**
 * Codes of a property as they were when they were copied. The index of a code is the id of its row minus the base of `range`. The
 * last entry is the code of no value.
 */
export interface CodesById {
  readonly range: IdRange
  readonly isWide: boolean
  /** Words of the codes: one word for each code, two if codes are wide. */
  readonly words: Int32Array
}

/** For each slot of a run: the index in `CodesById` of the row to which the slot's reference leads. */
interface RunIndexes {
  /** Number of the reference's column. */
  readonly reference: number
  readonly range: IdRange
  readonly address: number
}

interface RelatedColumn {
  readonly indexes: RunIndexes
  readonly isWide: boolean
  /** Address of the codes by id. */
  readonly codes: number
  /** Address of the codes of the slots that one step reads. */
  readonly address: number
}

export class RelatedColumns {
  private readonly indexes: RunIndexes[] = []
  private readonly columns: RelatedColumn[] = []
  /** Bytes of the copied codes of all columns. */
  bytes = 0

  /** `first`: number of the first of these columns. The columns of the table itself have lower numbers. */
  constructor(
    private readonly store: ColumnStore,
    private readonly memory: Reservations,
    private readonly first: number,
  ) {}

  /** Adds a column to which a reference leads, and returns the column's number. @throws KernelFull */
  add(reference: number, { range, isWide, words }: CodesById): number {
    const { memory } = this
    const codes = memory.reserve(roundedSize(words.byteLength))
    memory.kernel.words.set(words, codes >>> 2)
    this.bytes += words.byteLength
    const address = memory.reserve((isWide ? 8 : 4) * RUN_SLOTS)
    const column = { indexes: this.indexesOf(reference, range), isWide, codes, address }
    return this.first + this.columns.push(column) - 1
  }

  private indexesOf(reference: number, range: IdRange): RunIndexes {
    // All columns of this reference are columns of one table, so their codes have the same indexes.
    const known = this.indexes.find((one) => one.reference === reference)
    if (known) return known
    const made = { reference, range, address: this.memory.reserve(4 * RUN_SLOTS) }
    this.indexes.push(made)
    return made
  }

  /** Looks up the codes for the slots `[first, first + count)`. */
  lookUp(first: number, count: number): void {
    const { store } = this
    const { wasm } = store.kernel
    for (const { reference, range, address } of this.indexes) {
      const { base, bits } = range
      const codes = store.addressOf(reference)
      if (store.isWide(reference)) wasm.place64(codes + 8 * first, count, BigInt(base), bits, bits, address)
      // A column of 32 bits cannot have ids from 2^31 on.
      else wasm.place32(codes + 4 * first, count, base, Math.max(0, Math.min(bits, 2 ** 31 - base)), bits, address)
    }
    for (const { indexes, isWide, codes, address } of this.columns) {
      if (isWide) wasm.lookUp64(indexes.address, count, codes, address)
      else wasm.lookUp32(indexes.address, count, codes, address)
    }
  }

  isWide(column: number): boolean {
    return this.columns[column - this.first].isWide
  }

  /** Returns the address of the code for the first slot that was looked up. */
  addressOf(column: number): number {
    return this.columns[column - this.first].address
  }
}
