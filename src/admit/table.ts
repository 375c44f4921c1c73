// Memory layout of a rate-limit table: indexes of entries and cells, laps of admission numbers. Reads and writes no memory.
import { HEADER_WORDS } from '../os/region.ts'

/** Words of an entry: client (2), next admission, oldest that counts, second of the last request, client being evicted. */
export const [LOW, HIGH, HEAD, TAIL, SEEN, OWNER] = [0, 1, 2, 3, 4, 5]
const ENTRY_WORDS = 8

/** A cell of a ring: 31 bits of milliseconds, and the lap bit. */
export const TIME = 0x7fffffff
export const LAP = ~TIME

/** Entries of as many clients, and one for all clients without an entry, each with a ring of `depth` cells. */
export class Table {
  private readonly rings: number

  /** `wrap`: where the numbers of admissions begin again; a multiple of two laps. */
  constructor(
    readonly words: Int32Array,
    readonly clients: number,
    readonly depth: number,
    private readonly wrap: number = Math.floor(0x7fff0000 / (2 * depth)) * 2 * depth,
  ) {
    if (words.length < Table.words(clients, depth)) throw new Error('the shared memory is too small for its table')
    this.rings = HEADER_WORDS + (clients + 1) * ENTRY_WORDS
  }

  static words(clients: number, depth: number): number {
    return HEADER_WORDS + (clients + 1) * (ENTRY_WORDS + depth)
  }

  entryOf(slot: number): number {
    return HEADER_WORDS + slot * ENTRY_WORDS
  }

  ringOf(slot: number): number {
    return this.rings + slot * this.depth
  }

  cellOf(ring: number, number: number): number {
    return ring + (number % this.depth)
  }

  /** Returns whether the cell already holds this number: its lap bit, 1 in even laps, is that of the number's lap. */
  isTaken(word: number, number: number): boolean {
    return word < 0 === this.isEvenLap(number)
  }

  cellWord(time: number, number: number): number {
    return this.isEvenLap(number) ? time | LAP : time
  }

  plus(number: number, by: number): number {
    return this.minus(number, this.wrap - by)
  }

  minus(number: number, by: number): number {
    return number < by ? number - by + this.wrap : number - by
  }

  private isEvenLap(number: number): boolean {
    return (Math.floor(number / this.depth) & 1) === 0
  }
}
