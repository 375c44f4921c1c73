// WebAssembly kernel: functions over columns, and the memory of columns and bitmaps. The code is in kernel.wat and simd.wat.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Thrown when the memory of a kernel is full. */
export class KernelFull extends Error {}

/** Functions of simd.wat, which says what each does. A bitmap has one bit for each row; addresses are in bytes. */
interface Ranges {
  range32(column: number, rows: number, from: number, to: number, least: number, width: number, flip: number): void
  range64(column: number, rows: number, from: number, to: number, least: number, greatest: number, flip: number): void
}

/** Functions of kernel.wat, too. */
interface Calls extends Ranges {
  popcount(bits: number, bytes: number): number
  rank(column: number, bits: number, bytes: number, ranks: number, to: number): void
  widen(column: number, rows: number, to: number): void
  histogram32(column: number, bits: number, bytes: number, least: number, shift: number, counts: number): void
  histogram64(column: number, bits: number, bytes: number, least: bigint, shift: number, counts: number): void
  gather(bits: number, bytes: number, base: number, out: number): number
  key32(column: number, rows: number, numbers: number, size: number, offset: number): void
  // biome-ignore format: as in kernel.wat
  period64(column: number, rows: number, numbers: number, size: number, middle: number, inverse: number, table: number, days: number): void
  // biome-ignore format: as in kernel.wat
  add(bits: number, bytes: number, numbers: number, column: number, records: number, size: number, one: number, value: number, sum: number, units: number): void
}

/**
 * Addresses of buffers that are used during one call: of a histogram; of a column of a segment; and of an integer for each row of
 * it, its group, its number by one key, and the numbers of those that are selected.
 */
type Scratch = Readonly<Record<'counts' | 'column' | 'groups' | 'keys' | 'selected', number>>

/** Unit of memory for bitmaps and columns, in bytes. */
const BLOCK = 8_192
const PAGE = 65_536
/** For `scratch`. */
const PAGES_MIN = 16
/** 2 GiB, since addresses are signed integers of 32 bits. */
const PAGES_MAX = 32_768

/** Maximum rows of a segment: with fewer, a range is met more closely; with more, there are fewer segments to rule out. */
export const SEGMENT_ROWS = 8_192
/** Buckets of a histogram. */
export const BUCKETS = 4_096

const read = (file: string) => readFileSync(join(import.meta.dir, file))
const KERNEL = new WebAssembly.Module(read('kernel.wasm'))
const simd = read('simd.wasm')
const VECTORS = WebAssembly.validate(simd) ? new WebAssembly.Module(simd) : null

/** A memory of full size from the beginning, since to grow it would copy it. Pages take memory once they are written. */
export class Kernel {
  /** Views of the whole memory. */
  readonly words: Int32Array
  readonly floats: Float64Array
  /** The histogram of `scratch`. */
  readonly counts: Int32Array
  readonly wasm: Calls
  readonly scratch: Scratch
  private readonly memory: WebAssembly.Memory
  private readonly blocksMax: number
  /** Which blocks are in use. The first stays: 0 is no address. */
  private readonly used: Uint8Array
  private usedCount = 1
  /** From this block on, none was ever in use. */
  private untouched = 1
  /** No block below is free. */
  private firstFree = 1

  /** 1 MiB at least; with vectors of 128 bits if the processor has them and `hasVectors`. */
  constructor(bytesMax: number, hasVectors = true) {
    const pagesMax = Math.max(PAGES_MIN, Math.min(PAGES_MAX, Math.floor(bytesMax / PAGE)))
    this.blocksMax = (pagesMax * PAGE) / BLOCK
    this.used = new Uint8Array(this.blocksMax).fill(1, 0, 1)
    this.memory = new WebAssembly.Memory({ initial: pagesMax, maximum: pagesMax })
    const { buffer } = this.memory
    this.words = new Int32Array(buffer)
    this.floats = new Float64Array(buffer)
    const ranges = hasVectors && VECTORS ? this.open<Ranges>(VECTORS) : rangesWithin(this.words, this.floats)
    this.wasm = { ...this.open<Omit<Calls, keyof Ranges>>(KERNEL), ...ranges }
    const counts = this.reserve(4 * BUCKETS)
    this.counts = new Int32Array(buffer, counts, BUCKETS)
    const integers = () => this.reserve(4 * SEGMENT_ROWS)
    const ofRows = { column: this.reserve(8 * SEGMENT_ROWS), groups: integers(), keys: integers(), selected: integers() }
    this.scratch = { counts, ...ofRows }
  }

  get bytesMax(): number {
    return this.blocksMax * BLOCK
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.usedCount * BLOCK
  }

  /** Reserves bytes, all 0, and returns their address. @throws KernelFull */
  reserve(bytes: number): number {
    const count = Math.ceil(bytes / BLOCK)
    const first = this.findFree(count)
    this.used.fill(1, first, first + count)
    this.usedCount += count
    if (first === this.firstFree) this.firstFree += count
    // What was never in use is 0, and takes no memory of the machine until something else is written there.
    const end = Math.max(first, Math.min(first + count, this.untouched))
    this.words.fill(0, (first * BLOCK) / 4, (end * BLOCK) / 4)
    this.untouched = Math.max(this.untouched, first + count)
    return first * BLOCK
  }

  /** Gives back what `reserve` gave. */
  free(address: number, bytes: number): void {
    const [first, count] = [address / BLOCK, Math.ceil(bytes / BLOCK)]
    this.used.fill(0, first, first + count)
    this.usedCount -= count
    if (first < this.firstFree) this.firstFree = first
  }

  private findFree(count: number): number {
    let found = 0
    for (let at = this.firstFree; at < this.blocksMax; at++) {
      found = this.used[at] === 0 ? found + 1 : 0
      if (found === count) return at + 1 - count
    }
    throw new KernelFull(`no ${count * BLOCK} bytes of ${this.bytesMax} are free in one piece`)
  }

  private open<Exports>(program: WebAssembly.Module): Exports {
    const { exports } = new WebAssembly.Instance(program, { '': { memory: this.memory } })
    return exports as Exports
  }
}

/** For processors without vectors. */
function rangesWithin(words: Int32Array, floats: Float64Array): Ranges {
  return {
    range32(column, rows, from, to, least, width, flip) {
      for (let row = 0, at = column >> 2; row < rows; row += 32) {
        let word = flip === 0 ? 0 : -1
        for (let bit = 0; bit < 32; bit++, at++) word ^= Number((words[at] - least) >>> 0 <= width) << bit
        words[(to + (row >> 3)) >> 2] = words[(from + (row >> 3)) >> 2] & word
      }
    },
    range64(column, rows, from, to, least, greatest, flip) {
      for (let row = 0, at = column >> 3; row < rows; row += 32) {
        let word = flip === 0 ? 0 : -1
        for (let bit = 0; bit < 32; bit++, at++) word ^= Number(floats[at] >= least && floats[at] <= greatest) << bit
        words[(to + (row >> 3)) >> 2] = words[(from + (row >> 3)) >> 2] & word
      }
    },
  }
}

/** Pieces of a kernel's memory that are given back together. */
export class Reservations {
  private readonly pieces = new Map<number, number>()

  constructor(readonly kernel: Kernel) {}

  /** @throws KernelFull */
  reserve(bytes: number): number {
    const address = this.kernel.reserve(bytes)
    this.pieces.set(address, bytes)
    return address
  }

  release(): void {
    for (const [address, bytes] of this.pieces) this.kernel.free(address, bytes)
    this.pieces.clear()
  }
}
