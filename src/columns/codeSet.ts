// Sets of codes, which say whether the code of a row meets a condition.
import type { Code } from './codes.ts'

/** A set of codes. NaN is in the set if the set includes rows without a value. */
export interface CodeSet {
  /** Estimated bytes of the set. */
  readonly bytes: number
  has(code: Code): boolean
}

/** Estimated bytes of a code in a Set. */
export const ENTRY_BYTES = 64

/** A set of a few codes of any kind. */
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
 * A set of text codes, with one bit for each text of the property. A condition may match nearly all texts; a `Set` would take 64
 * bytes for each of them.
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

/** Returns the bit of a text code. No text has code 0, so bit 0 is for rows without a value. */
function bitOf(code: Code): number {
  return Number.isNaN(code) ? 0 : Number(code)
}
