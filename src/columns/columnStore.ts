// Rows of a table as contiguous columns of codes, and a bitmap of the slots that have a row.
import { type Code, codeOfHalves, NO_CODE } from './codes.ts'
import { type Kernel, KernelFull } from './kernel.ts'

/** Column of the id, the first property of each entity. */
export const ID = 0
/** The kernel's functions always process a multiple of this number of slots. */
const SLOTS_STEP = 128
/** Bytes of a code of 64 bits. A column reserves this many bytes for each slot, even if its codes have 32 bits. */
const WIDE = 8
/** Bytes of a code of 32 bits. Each column begins with such codes. */
const NARROW = 4

/**
 * Columns of codes. A column has codes of 32 bits until a code does not fit, and then of 64. A row keeps its slot until it is
 * removed. Then the next new row takes the slot, so nothing has to be compacted.
 */
export class ColumnStore {
  /** Number of slots that have a row, or had a row before. */
  slots = 0
  rows = 0
  /** Address of the bitmap of slots that have a row. */
  readonly liveBits: number
  private readonly bitmapBytesMax: number
  private readonly freeBitmaps: number[] = []
  private readonly addresses: number[]
  private readonly widths: Uint8Array
  private readonly free: number[] = []
  /** Least finite code of each column, among all rows that the table has or had. */
  private readonly leasts: Float64Array
  /** Greatest finite code of each column, among all rows that the table has or had. */
  private readonly greatests: Float64Array
  private readonly infinite: Uint8Array

  /** `slotsMax`: a multiple of 512. @throws KernelFull */
  constructor(
    readonly kernel: Kernel,
    readonly columns: number,
    readonly slotsMax: number,
  ) {
    this.bitmapBytesMax = slotsMax / 8
    this.liveBits = kernel.reserve(this.bitmapBytesMax)
    this.addresses = Array.from({ length: columns }, () => kernel.reserve(WIDE * slotsMax))
    this.widths = new Uint8Array(columns).fill(NARROW)
    this.leasts = new Float64Array(columns).fill(Number.POSITIVE_INFINITY)
    this.greatests = new Float64Array(columns).fill(Number.NEGATIVE_INFINITY)
    this.infinite = new Uint8Array(columns)
  }

  /** Bytes in use, without those that are only reserved. */
  get bytes(): number {
    return this.widths.reduce((sum, width) => sum + width * this.slots, this.slots / 8)
  }

  /** Number of slots that the kernel processes: `slots`, rounded up to a multiple of 128. */
  get slotsInUse(): number {
    return Math.max(SLOTS_STEP, (this.slots + SLOTS_STEP - 1) & -SLOTS_STEP)
  }

  /** Bytes of a bitmap that has a bit for each of the `slotsInUse`. */
  get bitmapBytes(): number {
    return this.slotsInUse / 8
  }

  /** Returns the address of an empty bitmap for `slotsMax` slots. @throws KernelFull */
  reserveBitmap(): number {
    const bits = this.freeBitmaps.pop()
    if (bits === undefined) return this.kernel.reserve(this.bitmapBytesMax)
    // The bytes after the first `bitmapBytes` have no set bits, because the number of slots in use never falls.
    this.kernel.words.fill(0, bits >>> 2, (bits + this.bitmapBytes) >>> 2)
    return bits
  }

  freeBitmap(bits: number): void {
    this.freeBitmaps.push(bits)
  }

  get freeSlots(): number {
    return this.free.length
  }

  addressOf(column: number): number {
    return this.addresses[column]
  }

  isWide(column: number): boolean {
    return this.widths[column] === WIDE
  }

  /** Returns a lower bound of the finite codes that the column has or had; Infinity if it never had a finite code. */
  leastOf(column: number): number {
    return this.leasts[column]
  }

  /** Returns an upper bound of the finite codes that the column has or had; -Infinity if it never had a finite code. */
  greatestOf(column: number): number {
    return this.greatests[column]
  }

  /** Returns whether the column has, or had, an infinite code. */
  hasInfinite(column: number): boolean {
    return this.infinite[column] === 1
  }

  isLive(slot: number): boolean {
    return ((this.kernel.words[(this.liveBits >>> 2) + (slot >> 5)] >>> (slot & 31)) & 1) === 1
  }

  /** Returns the upper half of a slot's code. A slot without a value has the least 64-bit integer as its code. */
  highAt(slot: number, column: number): number {
    const { words } = this.kernel
    const address = this.addresses[column] >>> 2
    if (this.widths[column] === WIDE) return words[address + 2 * slot + 1]
    const code = words[address + slot]
    return code === NO_CODE ? NO_CODE : code >> 31
  }

  lowAt(slot: number, column: number): number {
    const { words } = this.kernel
    const address = this.addresses[column] >>> 2
    if (this.widths[column] === WIDE) return words[address + 2 * slot]
    const code = words[address + slot]
    return code === NO_CODE ? 0 : code
  }

  /** Returns the code of a row; NaN if the row has no value. */
  codeAt(slot: number, column: number): Code {
    if (this.widths[column] === WIDE) return codeOfHalves(this.highAt(slot, column), this.lowAt(slot, column))
    const code = this.kernel.words[(this.addresses[column] >>> 2) + slot]
    return code === NO_CODE ? Number.NaN : code
  }

  /** Returns the id of a row. Ids are at most 2^53, so each is a number. */
  idAt(slot: number): number {
    const { words } = this.kernel
    const address = this.addresses[ID] >>> 2
    if (this.widths[ID] === NARROW) return words[address + slot]
    return words[address + 2 * slot + 1] * 2 ** 32 + (words[address + 2 * slot] >>> 0)
  }

  /** Returns a free slot for a new row. @throws KernelFull */
  takeSlot(): number {
    const slot = this.free.pop() ?? this.slots
    if (slot >= this.slotsMax) throw new KernelFull(`a table has outgrown ${this.slotsMax} slots`)
    if (slot === this.slots) this.slots++
    this.rows++
    this.flipLive(slot)
    return slot
  }

  releaseSlot(slot: number): void {
    this.flipLive(slot)
    this.rows--
    this.free.push(slot)
  }

  /** Returns whether the code of a row has these halves. */
  hasCode(slot: number, column: number, high: number, low: number): boolean {
    return this.lowAt(slot, column) === low && this.highAt(slot, column) === high
  }

  /** Sets the code of a row, given as two halves. The column is widened if the code does not fit into 32 bits. */
  set(slot: number, column: number, high: number, low: number): void {
    const { words } = this.kernel
    const isNone = high === NO_CODE && low === 0
    if (this.widths[column] === NARROW && !isNone && (high !== low >> 31 || low === NO_CODE)) this.widen(column)
    const address = this.addresses[column] >>> 2
    if (this.widths[column] === WIDE) {
      words[address + 2 * slot] = low
      words[address + 2 * slot + 1] = high
    } else words[address + slot] = isNone ? NO_CODE : low
    if (!isNone) this.bound(column, high, low)
  }

  private bound(column: number, high: number, low: number) {
    if ((high === 0x7fffffff && low === -1) || (high === NO_CODE && low === 1)) {
      this.infinite[column] = 1
      return
    }
    const code = high * 2 ** 32 + (low >>> 0)
    if (code < this.leasts[column]) this.leasts[column] = code
    if (code > this.greatests[column]) this.greatests[column] = code
  }

  /**
   * Reads all codes of these rows into floats, row after row; NaN means no value. Codes beyond 2^53 are stored in `large`
   * instead, by their index in `into`. Codes are read column by column, so that the processor waits for many cache misses at
   * once.
   */
  readAll(slots: ArrayLike<number>, into: Float64Array, large: Map<number, bigint>): void {
    const { words } = this.kernel
    const columns = this.addresses.length
    for (let column = 0; column < columns; column++) {
      const address = this.addresses[column] >>> 2
      if (this.widths[column] === NARROW) {
        for (let at = 0; at < slots.length; at++) {
          const code = words[address + slots[at]]
          into[at * columns + column] = code === NO_CODE ? Number.NaN : code
        }
        continue
      }
      for (let at = 0; at < slots.length; at++) {
        const code = this.codeAt(slots[at], column)
        const index = at * columns + column
        if (typeof code === 'bigint') large.set(index, code)
        else into[index] = code
      }
    }
  }

  private flipLive(slot: number) {
    const { words } = this.kernel
    const word = (this.liveBits >>> 2) + (slot >> 5)
    words[word] = words[word] ^ (1 << (slot & 31))
  }

  /** Widens the codes of a column to 64 bits in place. Starts at the end, so that no code is overwritten before it is read. */
  private widen(column: number) {
    const { words } = this.kernel
    const address = this.addresses[column] >>> 2
    for (let slot = this.slots - 1; slot >= 0; slot--) {
      const code = words[address + slot]
      words[address + 2 * slot] = code === NO_CODE ? 0 : code
      words[address + 2 * slot + 1] = code === NO_CODE ? NO_CODE : code >> 31
    }
    this.widths[column] = WIDE
  }
}
