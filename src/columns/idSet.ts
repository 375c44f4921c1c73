// Sets of ids, with one bit for each id between the least and the greatest. They say which rows a reference may lead to.
import { type CodeSet, ENTRY_BYTES } from './codeSet.ts'
import type { Code } from './codes.ts'
import { type ColumnStore, ID } from './columnStore.ts'

/** Number of bits in a word. The first id of a set is a multiple of it. */
const WORD = 32
/**
 * Maximum number of bits of a set: `BITS_OF_SLOT` for each slot of the table, plus `BITS_SPARE`. If ids are further apart, a set
 * would use too much memory.
 */
const BITS_SPARE = 2 ** 20
const BITS_OF_SLOT = 64
/**
 * Least id that a set may have. The code of no value, which is the least 32-bit integer, is less than this id, so no set takes it
 * for an id.
 */
const ID_LEAST = -(2 ** 30)
const BITS_MAX = 2 ** 30

/** Range of the ids that a table has or had: the id of a set's first bit, and the number of bits. */
export interface IdRange {
  readonly base: number
  readonly bits: number
}

/** Returns a range that includes all ids of a table, and the id `other`; null if these are too far apart for sets. */
export function idRangeOf(store: ColumnStore, other: number | null = null): IdRange | null {
  const least = Math.min(store.leastOf(ID), other ?? Number.POSITIVE_INFINITY)
  const greatest = Math.max(store.greatestOf(ID), other ?? Number.NEGATIVE_INFINITY)
  // The table never had a row.
  if (least > greatest) return { base: 0, bits: WORD }
  const base = Math.floor(least / WORD) * WORD
  const bits = WORD * Math.ceil((greatest - base + 1) / WORD)
  return least >= ID_LEAST && bits <= Math.min(BITS_MAX, BITS_OF_SLOT * store.slots + BITS_SPARE) ? { base, bits } : null
}

/** Ids of rows, as a list or as a set. */
export interface Ids extends CodeSet {
  readonly count: number
  /** Returns the ids in ascending order. */
  each(): Iterable<number>
  /** Returns the ids as a set of bits. */
  toSet(): IdSet
}

/** A list of a few ids. */
export class FewIds implements Ids {
  private known: ReadonlySet<number> | null = null

  /** `ids`: ascending, without duplicates. */
  constructor(
    private readonly ids: readonly number[],
    private readonly range: IdRange,
  ) {}

  get bytes(): number {
    return ENTRY_BYTES * this.ids.length
  }

  get count(): number {
    return this.ids.length
  }

  has(code: Code): boolean {
    this.known ??= new Set(this.ids)
    return this.known.has(Number(code))
  }

  each(): readonly number[] {
    return this.ids
  }

  toSet(): IdSet {
    const set = IdSet.empty(this.range)
    for (const id of this.ids) set.add(id)
    return set
  }
}

export class IdSet implements Ids {
  constructor(
    readonly base: number,
    /** Number of bits in all words. */
    readonly bits: number,
    readonly words: Int32Array,
    public count: number,
  ) {}

  static empty({ base, bits }: IdRange): IdSet {
    return new IdSet(base, bits, new Int32Array(bits / WORD), 0)
  }

  get bytes(): number {
    return this.words.byteLength
  }

  has(code: Code): boolean {
    const at = Number(code) - this.base
    return at >= 0 && at < this.bits && ((this.words[at >>> 5] >>> (at & 31)) & 1) === 1
  }

  /** Adds an id of the range. Returns false if the set already had the id. */
  add(id: number): boolean {
    const at = id - this.base
    const bit = 1 << (at & 31)
    const before = this.words[at >>> 5]
    if ((before & bit) !== 0) return false
    this.words[at >>> 5] = before | bit
    this.count++
    return true
  }

  toSet(): this {
    return this
  }

  *each(): Generator<number, void> {
    for (let at = 0; at < this.words.length; at++) {
      for (let left = this.words[at]; left !== 0; left &= left - 1) yield this.base + WORD * at + (31 - Math.clz32(left & -left))
    }
  }
}
