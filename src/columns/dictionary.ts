// Dictionary of a property's texts: a hash table over their UTF-8 bytes that gives each text a code. Texts are never removed.
import type { JsonWriter } from '../model/jsonWriter.ts'
import { KernelFull } from './kernel.ts'
import { type Factors, hashOf, randomFactors } from './textHash.ts'

const encoder = new TextEncoder()

/** Code of the empty text, the least code. */
export const EMPTY_TEXT = 1

/** Maximum size of all texts together, in bytes. Integers of 32 bits store where each text ends. */
const BYTES_MAX = 2 ** 31 - 1
/**
 * Maximum number of used slots that the search for a new text passes. By chance, at most about a hundred used slots follow each
 * other; more are a sign that texts collide.
 */
const PASSED_MAX = 1_000
/** Maximum number of attempts to choose factors of the hash with which texts do not collide. */
const FACTORS_MAX = 4

/** Thrown if texts still collide after the factors of the hash have been changed several times. */
export class TextsCollide extends Error {}

/** Texts and their codes. New texts get the codes 2, 3 and so on. All texts are in one buffer. */
export class Dictionary {
  /** Codes by the hash of their text; 0: the slot is free. At most half of the slots are in use. */
  private slots = new Int32Array(1 << 6)
  private hashes = new Int32Array(1 << 5)
  /** End of each text in the buffer, by code. The next text begins there. The first text is the empty one. */
  private ends = new Int32Array(1 << 5)
  private octets = Buffer.alloc(1 << 9)
  private last = EMPTY_TEXT
  private factors: Factors

  constructor(private readonly chooseFactors = randomFactors) {
    this.factors = chooseFactors()
  }

  /** Number that is one more than the greatest code. */
  get size(): number {
    return this.last + 1
  }

  get bytes(): number {
    const { slots, hashes, ends, octets, factors } = this
    return slots.byteLength + hashes.byteLength + ends.byteLength + octets.length + factors.byteLength
  }

  /** Returns the code of a text. A text that has no code gets a new one. */
  code(text: string): number {
    const bytes = encoder.encode(text)
    return this.codeOf(bytes, 0, bytes.length)
  }

  /**
   * Returns the code of the text whose UTF-8 is `bytes[from, to)`. A text that has no code gets a new one. @throws TextsCollide;
   * KernelFull
   */
  codeOf(bytes: Uint8Array, from: number, to: number): number {
    if (from === to) return EMPTY_TEXT
    const hash = hashOf(bytes, from, to, this.factors)
    const slot = this.slotOf(bytes, from, to, hash, PASSED_MAX)
    if (slot < 0) return this.codeByOtherFactors(bytes, from, to)
    return this.slots[slot] || this.add(bytes, from, to, hash, slot)
  }

  private codeByOtherFactors(bytes: Uint8Array, from: number, to: number): number {
    for (let left = FACTORS_MAX; left > 0; left--) {
      this.hashAnew()
      const hash = hashOf(bytes, from, to, this.factors)
      const slot = this.slotOf(bytes, from, to, hash, PASSED_MAX)
      if (slot >= 0) return this.add(bytes, from, to, hash, slot)
    }
    throw new TextsCollide()
  }

  /** Returns the code of a text; null if the text has no code. */
  find(text: string): number | null {
    if (text === '') return EMPTY_TEXT
    const bytes = encoder.encode(text)
    return this.slots[this.slotOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length, this.factors))] || null
  }

  /** Returns the text of a code from 1 on. */
  text(code: number): string {
    return this.octets.toString('utf8', this.ends[code - 1], this.ends[code])
  }

  /** Writes the text of a code from 1 on as JSON. */
  write(code: number, into: JsonWriter): void {
    into.text(this.octets, this.ends[code - 1], this.ends[code])
  }

  /** Returns the slot that has the text's code, or the free slot for it; -1 if the search has passed too many slots. */
  private slotOf(bytes: Uint8Array, from: number, to: number, hash: number, passedMax?: number): number {
    const { slots, hashes } = this
    const mask = slots.length - 1
    let passed = 0
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const code = slots[slot]
      if (code === 0 || (hashes[code] === hash && this.isText(code, bytes, from, to))) return slot
      if (++passed === passedMax) return -1
    }
  }

  private isText(code: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { ends, octets } = this
    const start = ends[code - 1]
    if (ends[code] - start !== to - from) return false
    for (let at = from, own = start; at < to; at++, own++) if (bytes[at] !== octets[own]) return false
    return true
  }

  private add(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const code = this.last + 1
    const start = this.ends[this.last]
    const end = start + to - from
    if (end > BYTES_MAX) throw new KernelFull('texts take too much')
    if (code === this.ends.length) {
      this.ends = widened(this.ends)
      this.hashes = widened(this.hashes)
    }
    if (end > this.octets.length) this.octets = Buffer.concat([this.octets], 2 * end)
    for (let at = from, own = start; at < to; at++, own++) this.octets[own] = bytes[at]
    this.ends[code] = end
    this.hashes[code] = hash
    this.slots[slot] = code
    this.last = code
    if (2 * code > this.slots.length && !this.spread(4 * this.slots.length)) this.hashAnew()
    return code
  }

  /** Hashes all texts again with new factors, because too many slots in a row are in use. @throws TextsCollide */
  private hashAnew() {
    for (let left = FACTORS_MAX; left > 0; left--) {
      const { ends, octets, hashes } = this
      this.factors = this.chooseFactors()
      for (let code = EMPTY_TEXT + 1; code <= this.last; code++)
        hashes[code] = hashOf(octets, ends[code - 1], ends[code], this.factors)
      if (this.spread(this.slots.length)) return
    }
    throw new TextsCollide()
  }

  /** Distributes all codes over `length` slots. Returns false if a search would pass too many slots. */
  private spread(length: number): boolean {
    const { ends, octets, hashes } = this
    this.slots = new Int32Array(length)
    for (let code = EMPTY_TEXT + 1; code <= this.last; code++) {
      const slot = this.slotOf(octets, ends[code - 1], ends[code], hashes[code], PASSED_MAX)
      if (slot < 0) return false
      this.slots[slot] = code
    }
    return true
  }
}

/** Copies the numbers into an array of twice the size. */
export function widened(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(2 * numbers.length)
  wider.set(numbers)
  return wider
}
