// Rows that a summary processes together: the rows of a run of slots whose bits are set in a bitmap, or a single row.
import { type Code, codeOfHalves, NO_CODE } from './codes.ts'
import type { ColumnStore } from './columnStore.ts'
import type { Kernel, Reservations } from './kernel.ts'

/** Number of slots that one step reads. */
export const RUN_SLOTS = 8_192
/** Bytes of a bitmap that the kernel's functions read at a time. */
const WORD = 8

/**
 * Memory that a grouping uses within one step: several integers of 32 bits for each slot of a run, and a bitmap that has only its
 * first bit set.
 */
export class Scratch {
  /** Address of the numbers of slots. The number of a slot is the group of its row. */
  readonly numbers: number
  /** Address of the numbers of slots for one key. */
  readonly keys: number
  readonly selected: number
  readonly firstBit: number

  /** @throws KernelFull */
  constructor(memory: Reservations) {
    const bytes = 4 * RUN_SLOTS
    this.numbers = memory.reserve(3 * bytes + WORD)
    this.keys = this.numbers + bytes
    this.selected = this.keys + bytes
    this.firstBit = this.selected + bytes
    memory.kernel.words[this.firstBit >>> 2] = 1
  }
}

/** Columns of related rows. Their numbers follow those of the table's own columns. */
interface OtherColumns {
  lookUp(first: number, count: number): void
  isWide(column: number): boolean
  addressOf(column: number): number
}

/**
 * Rows of the `count` slots from `first` on. A row is selected if its bit is set in the bitmap, which has `bytes` at the address
 * `bits`.
 */
export class SelectedRows {
  readonly kernel: Kernel
  private gathered: Int32Array | null = null

  private constructor(
    readonly store: ColumnStore,
    readonly scratch: Scratch,
    readonly first: number,
    readonly count: number,
    readonly bits: number,
    readonly bytes: number,
    private readonly related: OtherColumns | null,
  ) {
    this.kernel = store.kernel
    if (related !== null) related.lookUp(first, count)
  }

  /** Returns the selected rows of a run of slots. `first` and `count` are multiples of 64. */
  static ofRun(
    store: ColumnStore,
    scratch: Scratch,
    first: number,
    count: number,
    bits: number,
    related: OtherColumns | null,
  ): SelectedRows {
    return new SelectedRows(store, scratch, first, count, bits, count / 8, related)
  }

  static single(store: ColumnStore, scratch: Scratch, slot: number, related: OtherColumns | null): SelectedRows {
    return new SelectedRows(store, scratch, slot, 1, scratch.firstBit, WORD, related)
  }

  /** Slots of the rows. They are valid until the next rows are selected. */
  get slots(): Int32Array {
    if (this.gathered === null) {
      const { wasm, words } = this.kernel
      const { selected } = this.scratch
      const end = wasm.gather(this.bits, this.bytes, this.first, selected, this.count)
      this.gathered = words.subarray(selected >>> 2, end >>> 2)
    }
    return this.gathered
  }

  isWide(column: number): boolean {
    return this.relatedOf(column)?.isWide(column) ?? this.store.isWide(column)
  }

  /** Returns the address of the code of the first slot. */
  addressOf(column: number): number {
    const related = this.relatedOf(column)
    if (related !== null) return related.addressOf(column)
    return this.store.addressOf(column) + (this.store.isWide(column) ? 8 : 4) * this.first
  }

  codeAt(slot: number, column: number): Code {
    const { words } = this.kernel
    const address = this.addressOf(column) >>> 2
    const at = slot - this.first
    if (this.isWide(column)) return codeOfHalves(words[address + 2 * at + 1], words[address + 2 * at])
    const code = words[address + at]
    return code === NO_CODE ? Number.NaN : code
  }

  private relatedOf(column: number): OtherColumns | null {
    return column < this.store.columns ? null : this.related
  }
}
