// The WebAssembly kernel: functions over columns, and memory for columns, bitmaps and indexes. The *.wat files have the code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Thrown when the memory of a kernel is full. */
export class KernelFull extends Error {}

/** Functions of simd.wat, where each is explained. A bitmap has one bit for each slot. Addresses are in bytes. */
interface VectorCalls {
  range32(column: number, slots: number, to: number, least: number, width: number): void
  range64(column: number, slots: number, to: number, least: bigint, greatest: bigint): void
  and(one: number, other: number, to: number, bytes: number): number
  andNot(one: number, other: number, to: number, bytes: number): number
  or(one: number, other: number, to: number, bytes: number): number
  countBoth(one: number, other: number, bytes: number): number
}

/** Functions of bitmaps.wat. If the processor has vectors, `amongIds32` comes from simd.wat instead. */
interface BitmapCalls {
  countOf(slots: number, count: number, bits: number): number
  select(slots: number, count: number, bits: number, flip: number, to: number): number
  flip(slots: number, count: number, bits: number): void
  gather(bits: number, bytes: number, base: number, out: number, most: number): number
  marked(column: number, slots: number, marks: number, to: number): void
  setIds32(bits: number, bytes: number, column: number, base: number, to: number): void
  setIds64(bits: number, bytes: number, column: number, base: bigint, to: number): void
  amongIds32(column: number, slots: number, ids: number, base: number, size: number, to: number): void
  amongIds64(column: number, slots: number, ids: number, base: bigint, size: number, to: number): void
}

/** Functions of groups.wat. */
interface GroupCalls {
  key32(column: number, slots: number, numbers: number, factor: number, before: number, size: number): void
  key64(column: number, slots: number, numbers: number, factor: number, before: bigint, size: number): void
  // biome-ignore format: as in groups.wat
  period32(column: number, slots: number, numbers: number, factor: number, middle: number, inverse: number, table: number, days: number): void
  // biome-ignore format: as in groups.wat
  period64(column: number, slots: number, numbers: number, factor: number, middle: number, inverse: number, table: number, days: number): void
  // biome-ignore format: as in groups.wat
  zoned32(column: number, slots: number, numbers: number, factor: number, least: number, seconds: number, shift: number, table: number): void
  // biome-ignore format: as in groups.wat
  zoned64(column: number, slots: number, numbers: number, factor: number, least: bigint, seconds: bigint, shift: number, table: number): void
  count(bits: number, bytes: number, numbers: number, records: number, length: number): void
  // biome-ignore format: as in groups.wat
  add32(bits: number, bytes: number, numbers: number, column: number, records: number, length: number, one: number, value: number, sum: number): void
  // biome-ignore format: as in groups.wat
  add64(bits: number, bytes: number, numbers: number, column: number, records: number, length: number, one: number, value: number, sum: number): void
  extreme32(bits: number, bytes: number, numbers: number, column: number, records: number, isLeast: number): void
  extreme64(bits: number, bytes: number, numbers: number, column: number, records: number, isLeast: number): void
  keep32(bits: number, bytes: number, numbers: number, column: number, records: number, length: number): void
  place32(column: number, slots: number, base: number, size: number, none: number, to: number): void
  place64(column: number, slots: number, base: bigint, size: number, none: number, to: number): void
  lookUp32(indexes: number, slots: number, codes: number, to: number): void
  lookUp64(indexes: number, slots: number, codes: number, to: number): void
}

type Calls = VectorCalls & BitmapCalls & GroupCalls

const PAGE = 65_536
/**
 * Maximum number of pages: 4 GiB, all that 32-bit addresses can reach. Addresses in the upper half are negative in JavaScript;
 * `>>> 0` makes them positive.
 */
const PAGES_MAX = 65_536
/** Maximum size of a kernel's memory, in bytes. */
export const KERNEL_BYTES_MAX = PAGES_MAX * PAGE
/** First address that is reserved. No memory has address 0. */
const FIRST = 64
/** Alignment of reserved memory in bytes, so that vectors do not cross cache lines. */
const ALIGNMENT = 64

const read = (file: string) => readFileSync(join(import.meta.dir, file))
const BITMAPS = new WebAssembly.Module(read('bitmaps.wasm'))
const GROUPS = new WebAssembly.Module(read('groups.wasm'))
const simd = read('simd.wasm')
const VECTORS = WebAssembly.validate(simd) ? new WebAssembly.Module(simd) : null

/**
 * WebAssembly memory, and functions over it. The memory has its full size from the start, because growing would copy it. The
 * machine provides a page only when it is first written, so columns can reserve room for rows that may never come.
 */
export class Kernel {
  /** Views of the whole memory. */
  readonly words: Int32Array<ArrayBuffer>
  readonly octets: Uint8Array<ArrayBuffer>
  readonly wasm: Calls
  private readonly memory: WebAssembly.Memory
  private readonly bytesMax: number
  /** First address that was never reserved. */
  private next = FIRST
  /** Addresses of freed memory, by its size. */
  private readonly released = new Map<number, number[]>()

  /** `bytesMax`: at most 4 GiB. Vectors of 128 bits are used if the processor has them, unless `hasVectors` is false. */
  constructor(bytesMax: number, hasVectors = true) {
    const pages = Math.min(PAGES_MAX, Math.ceil(bytesMax / PAGE))
    this.bytesMax = pages * PAGE
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    const { buffer } = this.memory
    this.words = new Int32Array(buffer)
    this.octets = new Uint8Array(buffer)
    const vectors = hasVectors && VECTORS ? this.open<VectorCalls>(VECTORS) : callsWithoutVectors(this.words)
    this.wasm = { ...this.open<BitmapCalls>(BITMAPS), ...this.open<GroupCalls>(GROUPS), ...vectors }
  }

  /** Reserves memory whose bytes are all 0, and returns its address. @throws KernelFull */
  reserve(bytes: number): number {
    const size = sizeOf(bytes)
    const known = this.released.get(size)?.pop()
    if (known !== undefined) {
      this.octets.fill(0, known, known + size)
      return known
    }
    const address = this.next
    if (address + size > this.bytesMax) throw new KernelFull(`no ${size} bytes of ${this.bytesMax} are free`)
    this.next += size
    return address
  }

  /** Frees reserved memory. It is reused for later reservations of the same size. */
  free(address: number, bytes: number): void {
    this.released.getOrInsertComputed(sizeOf(bytes), () => []).push(address)
  }

  private open<Exports>(program: WebAssembly.Module): Exports {
    const { exports } = new WebAssembly.Instance(program, { '': { memory: this.memory } })
    return exports as Exports
  }
}

function sizeOf(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}

/** Returns functions that replace those of simd.wat on processors without vectors. */
function callsWithoutVectors(words: Int32Array): VectorCalls {
  // A union is the complement of the rows that are in neither bitmap.
  const combine = (one: number, other: number, to: number | null, bytes: number, flip: number, flipAll = 0): number => {
    let count = 0
    for (let at = 0; at < bytes; at += 4) {
      const bits = ((words[(one + at) >>> 2] ^ flipAll) & (words[(other + at) >>> 2] ^ flip)) ^ flipAll
      if (to !== null) words[(to + at) >>> 2] = bits
      count += bitsOf(bits)
    }
    return count
  }
  return {
    range32(column, slots, to, least, width) {
      for (let slot = 0, at = column >>> 2; slot < slots; slot += 32) {
        let bits = 0
        for (let bit = 0; bit < 32; bit++, at++) bits |= Number((words[at] - least) >>> 0 <= width) << bit
        words[(to >>> 2) + (slot >> 5)] = bits
      }
    },
    range64(column, slots, to, least, greatest) {
      const codes = new BigInt64Array(words.buffer)
      for (let slot = 0, at = column / 8; slot < slots; slot += 32) {
        let bits = 0
        for (let bit = 0; bit < 32; bit++, at++) bits |= Number(codes[at] >= least && codes[at] <= greatest) << bit
        words[(to >>> 2) + (slot >> 5)] = bits
      }
    },
    and: (one, other, to, bytes) => combine(one, other, to, bytes, 0),
    andNot: (one, other, to, bytes) => combine(one, other, to, bytes, -1),
    or: (one, other, to, bytes) => combine(one, other, to, bytes, -1, -1),
    countBoth: (one, other, bytes) => combine(one, other, null, bytes, 0),
  }
}

/** Counts the bits of a word that are set. See Henry S. Warren, Hacker's Delight, 5-1. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Memory of a kernel that is freed together. */
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

/** Rounds a size up by less than a quarter, so that memory which one summary has freed fits the next summary. */
export function roundedSize(bytes: number): number {
  const step = 2 ** Math.max(6, Math.floor(Math.log2(bytes)) - 2)
  return Math.ceil(bytes / step) * step
}
