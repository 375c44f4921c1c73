// Sets of codes: does a row's code belong to a condition?
import type { Code } from './codes.ts'

/** A set of codes; NaN is in it if rows without a value are meant. */
export interface CodeSet {
  /** Estimated bytes. */
  readonly bytes: number
  has(code: Code): boolean
}

/** Estimated bytes of a code in a Set. */
export const ENTRY_BYTES = 64

/** A few codes of any kind. */
export class FewCodes implements CodeSet {
  private readonly codes: ReadonlySet<Code>

  constructor(codes: readonly Code[]) {
    this.codes = new Set(codes)
  }

  get bytes(): number {
    return ENTRY_BYTES * this.codes.size
  }

  has(code: Code): boolean {
    return this.codes.has(code)
  }
}

/**
 * A set of text codes, with one bit for each text of the property: a word may be in every text, and a Set would take 64 bytes for
 * each.
 */
export class TextCodes implements CodeSet {
  private readonly bits: Int32Array

  /** `size`: one more than the greatest code of all texts. */
  constructor(codes: readonly Code[], size: number) {
    this.bits = new Int32Array((size + 31) >>> 5)
    for (const code of codes) {
      const own = bitOf(code)
      this.bits[own >> 5] |= 1 << (own & 31)
    }
  }

  get bytes(): number {
    return this.bits.byteLength
  }

  has(code: Code): boolean {
    const own = bitOf(code)
    return ((this.bits[own >> 5] >>> (own & 31)) & 1) === 1
  }
}

/** No text has the code 0, so it stands for no value. */
function bitOf(code: Code): number {
  return Number.isNaN(code) ? 0 : Number(code)
}
