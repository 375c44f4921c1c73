// Sets of the ids of rows, one bit for each id between the least and the greatest: what a condition on a reference is about.
import type { CodeSet } from './codeSet.ts'
import type { Code } from './codes.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import { Reservations } from './kernel.ts'

/** Bits of a word, and of the steps in which sets begin. */
const WORD = 32
/** Maximum bits of a set beside those of the table's slots: ids that lie further apart would take too much memory. */
const BITS_SPARE = 2 ** 20
const BITS_OF_SLOT = 64
/** So that no value, the least integer of 32 bits, less the least id is greater than any size. */
const ID_LEAST = -(2 ** 30)
const BITS_MAX = 2 ** 30

/** Ids that a table has or had: the first bit of sets of its rows, and their bits. */
export interface IdRange {
  readonly base: number
  readonly bits: number
}

/** Returns the range of a table's ids; null: they lie too far apart for sets. */
export function idRangeOf(store: ColumnStore): IdRange | null {
  const least = store.leastOf(ID)
  const greatest = store.greatestOf(ID)
  // No row was ever there.
  if (least > greatest) return { base: 0, bits: WORD }
  const base = Math.floor(least / WORD) * WORD
  const bits = WORD * Math.ceil((greatest - base + 1) / WORD)
  return least >= ID_LEAST && bits <= Math.min(BITS_MAX, BITS_OF_SLOT * store.slots + BITS_SPARE) ? { base, bits } : null
}

export class IdSet implements CodeSet {
  private constructor(
    readonly base: number,
    /** Bits, as many as those of all words. */
    readonly bits: number,
    readonly words: Int32Array,
    readonly count: number,
  ) {}

  /** The ids of `count` rows of a bitmap. @throws KernelFull */
  static ofRows(store: ColumnStore, { base, bits }: IdRange, rows: number, count: number): IdSet {
    const { kernel, bitmapBytes } = store
    const memory = new Reservations(kernel)
    try {
      const to = memory.reserve(bits / 8)
      const column = store.addressOf(ID)
      if (store.isWide(ID)) kernel.wasm.setIds64(rows, bitmapBytes, column, BigInt(base), to)
      else kernel.wasm.setIds32(rows, bitmapBytes, column, base, to)
      return new IdSet(base, bits, kernel.words.slice(to >>> 2, (to >>> 2) + bits / WORD), count)
    } finally {
      memory.release()
    }
  }

  get bytes(): number {
    return this.words.byteLength
  }

  has(code: Code): boolean {
    const at = Number(code) - this.base
    return at >= 0 && at < this.bits && ((this.words[at >>> 5] >>> (at & 31)) & 1) === 1
  }

  /** The ids, ascending. */
  *each(): Generator<number, void> {
    for (let at = 0; at < this.words.length; at++) {
      for (let left = this.words[at]; left !== 0; left &= left - 1) yield this.base + WORD * at + (31 - Math.clz32(left & -left))
    }
  }
}
