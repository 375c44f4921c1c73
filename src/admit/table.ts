// Memory layout of a rate-limit table: indexes of entries and cells, and lap bits. This file only computes; directory.ts and
// window.ts read and write the memory.
import { HEADER_WORDS } from '../os/region.ts'

// Indexes of the words of an entry.
/** Index of the word with the lower half of the client's number. */
export const LOW = 0
/** Index of the word with the upper half of the client's number. */
export const HIGH = 1
/** Index of the word with the number that the client's next admission will get. */
export const HEAD = 2
/** Index of the word with the number of the oldest admission that a rule still counts. */
export const TAIL = 3
/** Index of the word with the time of the client's last request, in seconds. */
export const SEEN = 4
/** Index of the word with the lower half of the number of a client that is being evicted. */
export const OWNER = 5
const ENTRY_WORDS = 8

/** Mask of the bits of a cell that hold a time in milliseconds. */
export const TIME = 0x7fffffff
/** Mask of the bit of a cell that changes with each lap of the ring. */
export const LAP = ~TIME

/**
 * Layout of a table: an entry for each of `clients`, one more entry that all further clients share, and a ring of `depth` cells
 * for each entry.
 */
export class Table {
  private readonly rings: number

  /** `wrap`: after this many admissions their numbers begin again at 0. It is a multiple of two laps of the ring. */
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

  /**
   * Returns whether the cell with this word has admission `number`. A lap is `depth` admissions: the lap bit is 1 in even laps of
   * the ring, and 0 in odd laps.
   */
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
