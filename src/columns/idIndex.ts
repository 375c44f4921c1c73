// Index of rows by id: a sparse array in chunks, which also walks rows in the order of ids.
import { KernelFull } from './kernel.ts'

/** Ids of a chunk. */
const CHUNK = 256
const NONE = -1

/** Slots of rows by id, in pieces of one array, since ids that PostgreSQL gives are nearly dense. */
export class IdIndex {
  /** By number: the slots of its ids, and behind them how many rows there are. */
  private readonly chunks = new Map<number, Int32Array>()
  /** The numbers of the chunks, in ascending order; null: one has gone since, or has come in front of others. */
  private numbers: number[] | null = []

  constructor(private readonly bytesMax: number) {}

  get bytes(): number {
    return this.chunks.size * CHUNK_BYTES
  }

  /** The slot of a row; -1: there is none. */
  get(id: number): number {
    const number = Math.floor(id / CHUNK)
    return this.chunks.get(number)?.[id - number * CHUNK] ?? NONE
  }

  /** Adds a row, or says where it is now. @throws KernelFull */
  set(id: number, slot: number): void {
    const number = Math.floor(id / CHUNK)
    const chunk = this.chunks.get(number) ?? this.open(number)
    if (chunk[id - number * CHUNK] === NONE) chunk[CHUNK]++
    chunk[id - number * CHUNK] = slot
  }

  delete(id: number): void {
    if (this.get(id) === NONE) return
    const number = Math.floor(id / CHUNK)
    const chunk = this.chunks.get(number) as Int32Array
    chunk[id - number * CHUNK] = NONE
    if (--chunk[CHUNK] > 0) return
    this.chunks.delete(number)
    this.numbers = null
  }

  /** Slots of the wanted rows `[from, end)` by id; null: more than `idsMax` ids to look at. `isWanted`: null for all rows. */
  take(
    isWanted: ((slot: number) => boolean) | null,
    { from, end, isDescending }: { from: number; end: number; isDescending: boolean },
    idsMax: number,
  ): number[] | null {
    const found: number[] = []
    this.numbers ??= [...Float64Array.from(this.chunks.keys()).sort()]
    let [passed, looked] = [0, 0]
    for (let index = 0; index < this.numbers.length && looked < idsMax; index++) {
      const chunk = this.chunks.get(this.numbers.at(isDescending ? -1 - index : index) as number) as Int32Array
      const rows = chunk[CHUNK]
      if (isWanted === null && passed + rows <= from) {
        passed += rows
        continue
      }
      looked += CHUNK
      for (let at = 0; at < CHUNK; at++) {
        const slot = chunk[isDescending ? CHUNK - 1 - at : at]
        if (slot === NONE || (isWanted !== null && !isWanted(slot)) || passed++ < from) continue
        found.push(slot)
        if (passed === end) return found
      }
    }
    return null
  }

  private open(number: number): Int32Array {
    if (this.bytes >= this.bytesMax) throw new KernelFull('the ids of the rows take too much')
    const chunk = new Int32Array(CHUNK + 1).fill(NONE, 0, CHUNK)
    this.chunks.set(number, chunk)
    if (this.numbers !== null && number > (this.numbers.at(-1) ?? -1)) this.numbers.push(number)
    else this.numbers = null
    return chunk
  }
}

/** The chunk, and its entries in the map and among the numbers. */
const CHUNK_BYTES = 4 * (CHUNK + 1) + 96
