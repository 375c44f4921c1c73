// Dictionary of a property's texts: a hash table over UTF-8 that gives each text a code. It never removes a text.
import type { JsonWriter } from '../respond/jsonWriter.ts'
import { KernelFull } from './kernel.ts'

const encoder = new TextEncoder()

/** The least code, that of the empty text. */
export const EMPTY_TEXT = 1

/** Ends of texts are integers of 32 bits. */
const BYTES_MAX = 2 ** 31 - 1
/** Slots that a search passes. Chance makes a hundred in use side by side; more texts were made so that searches take long. */
const PASSED_MAX = 1_000

/** Codes of texts, from 2 on in the order in which they came. The texts are in one buffer. */
export class Dictionary {
  /** Codes by the hash of their text, 0 for none; at most half of them are in use. */
  private slots = new Int32Array(1 << 6)
  private hashes = new Int32Array(1 << 5)
  /** End of each text, at which the next one begins; the empty text is the first. */
  private ends = new Int32Array(1 << 5)
  private octets = Buffer.alloc(1 << 9)
  private last = EMPTY_TEXT

  /** One more than the greatest code. */
  get size(): number {
    return this.last + 1
  }

  get bytes(): number {
    const { slots, hashes, ends, octets } = this
    return slots.byteLength + hashes.byteLength + ends.byteLength + octets.length
  }

  /** The text's code; a new one if it has none. */
  code(text: string): number {
    const bytes = encoder.encode(text)
    return this.codeOf(bytes, 0, bytes.length)
  }

  /** Returns the code of UTF-8 in `bytes[from, to)`, whose hash may be known; a new one if it has none. */
  codeOf(bytes: Uint8Array, from: number, to: number, hash = hashOf(bytes, from, to)): number {
    if (from === to) return EMPTY_TEXT
    const slot = this.slotOf(bytes, from, to, hash, PASSED_MAX)
    return (this.slots[slot] as number) || this.add(bytes, from, to, hash, slot)
  }

  /** The text's code; null: it has none. */
  find(text: string): number | null {
    if (text === '') return EMPTY_TEXT
    const bytes = encoder.encode(text)
    return (this.slots[this.slotOf(bytes, 0, bytes.length, hashOf(bytes, 0, bytes.length))] as number) || null
  }

  /** The text of a code from 1 on. */
  text(code: number): string {
    return this.octets.toString('utf8', this.ends[code - 1], this.ends[code])
  }

  /** Writes the text of a code from 1 on as JSON. */
  write(code: number, into: JsonWriter): void {
    into.text(this.octets, this.ends[code - 1] as number, this.ends[code] as number)
  }

  /** Returns the slot of the text's code, or the empty one where it would be. */
  private slotOf(bytes: Uint8Array, from: number, to: number, hash: number, passedMax?: number): number {
    const { slots, hashes } = this
    const mask = slots.length - 1
    let passed = 0
    // The high bits of a hash are the better ones.
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const code = slots[slot] as number
      if (code === 0 || (hashes[code] === hash && this.isText(code, bytes, from, to))) return slot
      if (++passed === passedMax) throw new KernelFull('too many texts have hashes that are the same or alike')
    }
  }

  private isText(code: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { ends, octets } = this
    const start = ends[code - 1] as number
    if ((ends[code] as number) - start !== to - from) return false
    for (let at = from, own = start; at < to; at++, own++) if (bytes[at] !== octets[own]) return false
    return true
  }

  private add(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const code = this.last + 1
    const start = this.ends[this.last] as number
    const end = start + to - from
    if (end > BYTES_MAX) throw new KernelFull('texts take too much')
    if (code === this.ends.length) {
      this.ends = widened(this.ends)
      this.hashes = widened(this.hashes)
    }
    if (end > this.octets.length) this.octets = Buffer.concat([this.octets], 2 * end)
    for (let at = from, own = start; at < to; at++, own++) this.octets[own] = bytes[at] as number
    this.ends[code] = end
    this.hashes[code] = hash
    this.slots[slot] = code
    this.last = code
    if (2 * code > this.slots.length) this.spread()
    return code
  }

  private spread() {
    const { ends, octets, hashes } = this
    this.slots = new Int32Array(4 * this.slots.length)
    for (let code = EMPTY_TEXT + 1; code <= this.last; code++)
      this.slots[this.slotOf(octets, ends[code - 1] as number, ends[code] as number, hashes[code] as number, PASSED_MAX)] = code
  }
}

/** Hash of no bytes; see `hashed`. */
export const HASH_SEED = 0x811c9dc5 | 0

/** The hash of one more byte: FNV-1a, which is as quick as a hash of single bytes can be. */
export function hashed(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_SEED
  for (let at = from; at < to; at++) hash = hashed(hash, bytes[at] as number)
  return hash
}

/** Returns the numbers, with room for as many more. */
export function widened(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(2 * numbers.length)
  wider.set(numbers)
  return wider
}
