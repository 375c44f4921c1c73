import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The memory that a kernel may have does not suffice. */
export class KernelFull extends Error {}

/** Rows of which a bitmap says one bit each; see kernel.wat for what each function does. Addresses are in bytes. */
interface Ranges {
  range32(column: number, rows: number, from: number, to: number, least: number, width: number, flip: number): void
  range64(column: number, rows: number, from: number, to: number, least: number, greatest: number, flip: number): void
}

interface Calls extends Ranges {
  rankRange(column: number, rows: number, from: number, to: number, ranks: number, least: number, width: number): void
  popcount(bits: number, bytes: number): number
  histogram(...at: [...Keys, counts: number]): void
  restrict(column: number, from: number, to: number, ...rest: [...Omitted, bucket: number]): number
  gather(...at: [...Keys, first: number, last: number, base: number, out: number]): number
}
type Omitted = [bytes: number, kind: KeyKind, ranks: number, least: bigint, shift: bigint]
type Keys = [column: number, bits: number, ...Omitted]

/** How a row's key is read: a code of 32 bits, the rank of that, one among floats, a float. */
export type KeyKind = 0 | 1 | 2 | 3

/** What bitmaps and columns are made of, in bytes. */
const BLOCK = 8_192
const PAGE = 65_536
/** The memory grows by at least so many pages of 64 KiB, as each growth makes the views anew. */
const GROWTH_PAGES = 16

const read = (file: string) => readFileSync(join(import.meta.dir, file))

/** Functions over columns, and the memory in which columns lie; it never shrinks, so what is given back is used again. */
export class Kernel {
  /** Views of the whole memory, made anew when it grows: not to be kept. */
  words = new Int32Array()
  floats = new Float64Array()
  octets = new Uint8Array()
  readonly calls: Calls
  private readonly memory: WebAssembly.Memory
  private readonly blocksMax: number
  /** Which blocks are in use. The first stays: 0 is no address. */
  private readonly used: Uint8Array
  private usedCount = 1
  /** No block below is free. */
  private firstFree = 1

  /** With vectors of 128 bits where the processor has them, if not told otherwise. */
  constructor(bytesMax: number, hasVectors?: boolean) {
    const pagesMax = Math.max(1, Math.min(65_536, Math.floor(bytesMax / PAGE)))
    this.blocksMax = (pagesMax * PAGE) / BLOCK
    this.used = new Uint8Array(this.blocksMax).fill(1, 0, 1)
    this.memory = new WebAssembly.Memory({ initial: 1, maximum: pagesMax })
    const vectors = read('simd.wasm')
    const every = this.open<Calls>(read('kernel.wasm'))
    this.calls = (hasVectors ?? WebAssembly.validate(vectors)) ? { ...every, ...this.open<Ranges>(vectors) } : every
    this.view()
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.usedCount * BLOCK
  }

  /** The address of so many bytes, all 0. @throws KernelFull */
  reserve(bytes: number): number {
    const count = Math.ceil(bytes / BLOCK)
    const first = this.findFree(count)
    const missing = (first + count) * BLOCK - this.octets.length
    if (missing > 0) this.grow(Math.ceil(missing / PAGE))
    this.used.fill(1, first, first + count)
    this.usedCount += count
    if (first === this.firstFree) this.firstFree += count
    this.octets.fill(0, first * BLOCK, (first + count) * BLOCK)
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
    throw new KernelFull(`no ${count * BLOCK} bytes of ${this.blocksMax * BLOCK} are free in one piece`)
  }

  private grow(pages: number) {
    const left = (this.blocksMax * BLOCK - this.octets.length) / PAGE
    try {
      this.memory.grow(Math.min(left, Math.max(pages, GROWTH_PAGES)))
    } catch (cause) {
      throw new KernelFull('the system has no more memory', { cause })
    }
    this.view()
  }

  private view() {
    const { buffer } = this.memory
    this.words = new Int32Array(buffer)
    this.floats = new Float64Array(buffer)
    this.octets = new Uint8Array(buffer)
  }

  private open<Exports>(program: Uint8Array): Exports {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(program), { '': { memory: this.memory } })
    return exports as Exports
  }
}
