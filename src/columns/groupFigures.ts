// Figures of a summary's groups: counts, exact sums, least and greatest values.
import { type Code, codeOfHalves, HIGH_NONE, LOW_NONE, NO_CODE } from './codes.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import { type Printer, printUnits } from './printers.ts'
import type { SelectedRows } from './selectedRows.ts'

/**
 * Parts of a sum by which groups are sorted: a float near the sum, which decides in nearly all cases, then the sum's upper and
 * lower half.
 */
export const SUM_PARTS = ['near', 'upper', 'lower'] as const
type SumPart = (typeof SUM_PARTS)[number]

/**
 * Words of 32 bits: each group has the same number of them. They are in the kernel's memory until `copyToHeap` copies them to the
 * heap.
 */
class GroupWords {
  address = 0
  size = 0
  words: Int32Array

  constructor(
    private readonly memory: Reservations,
    private readonly length: number,
  ) {
    this.words = memory.kernel.words
  }

  get bytes(): number {
    return 4 * this.length * this.size
  }

  /** Makes room for the groups with numbers below `size`. The words of new groups are 0. @throws KernelFull */
  grow(size: number): void {
    const address = this.memory.reserve(roundedSize(4 * this.length * size))
    const from = this.address >>> 2
    this.words.copyWithin(address >>> 2, from, from + this.length * this.size)
    ;[this.address, this.size] = [address, size]
  }

  /** Copies the words to the heap. After that, the kernel's memory can be freed. */
  copyToHeap(): void {
    const from = this.address >>> 2
    this.words = this.words.slice(from, from + this.length * this.size)
    this.address = 0
  }

  /** Returns the index of the first word of a group. */
  indexOf(group: number): number {
    return (this.address >>> 2) + group * this.length
  }
}

/**
 * Records of groups in the kernel's memory. A record has the number of rows, the number of values in each sum, the codes of
 * names, and the sums in units of their last digit.
 */
export class GroupRecords {
  /** Number of 32-bit integers in a record. */
  private readonly length: number
  private readonly firstSum: number
  private readonly records: GroupWords

  constructor(
    memory: Reservations,
    private readonly sums: number,
    names: number,
  ) {
    this.firstSum = 2 * Math.ceil((1 + sums + names) / 2)
    this.length = this.firstSum + 2 * sums
    this.records = new GroupWords(memory, this.length)
  }

  get bytes(): number {
    return this.records.bytes
  }

  /** Makes room for the groups with numbers below `size`. @throws KernelFull */
  grow(size: number): void {
    this.records.grow(size)
  }

  /** Counts the rows of groups. If there are sums, does nothing, because `add` counts the rows when it adds to the first sum. */
  count({ kernel, scratch, bits, bytes }: SelectedRows): void {
    if (this.sums === 0) kernel.wasm.count(bits, bytes, scratch.numbers, this.records.address, 4 * this.length)
  }

  /** Adds the codes of a column to the sum with this index. */
  add(rows: SelectedRows, column: number, index: number): void {
    const { kernel, scratch, bits, bytes } = rows
    const add = rows.isWide(column) ? kernel.wasm.add64 : kernel.wasm.add32
    const one = index === 0 ? 1 : 0
    const value = 4 * (1 + index)
    const sum = 4 * (this.firstSum + 2 * index)
    add(bits, bytes, scratch.numbers, rows.addressOf(column), this.records.address, 4 * this.length, one, value, sum)
  }

  /** Stores the code of the name with this index. All rows of a group have the same name. */
  keep(rows: SelectedRows, column: number, index: number): void {
    const { kernel, scratch, bits, bytes } = rows
    const name = this.records.address + 4 * (1 + this.sums + index)
    kernel.wasm.keep32(bits, bytes, scratch.numbers, rows.addressOf(column), name, 4 * this.length)
  }

  /** Returns the groups that have rows. */
  found(): Int32Array {
    const { length } = this
    const { words, address, size } = this.records
    const groups = new Int32Array(size)
    let count = 0
    for (let group = 0, at = address >>> 2; group < size; group++, at += length) if (words[at] !== 0) groups[count++] = group
    return groups.subarray(0, count)
  }

  /** Copies the records to the heap. After that, the kernel's memory can be freed. */
  copyToHeap(): void {
    this.records.copyToHeap()
  }

  countOf(group: number): number {
    return this.records.words[this.records.indexOf(group)]
  }

  /** Returns how many values the sum with this index has. */
  valuesOf(group: number, index: number): number {
    return this.records.words[this.records.indexOf(group) + 1 + index]
  }

  /** Returns the code of the name with this index. */
  nameOf(group: number, index: number): number {
    return this.records.words[this.records.indexOf(group) + 1 + this.sums + index]
  }

  /** Returns a part of a sum, in units of the sum's last digit; NaN if no row of the group has a value. */
  partOf(group: number, index: number, part: SumPart): number {
    const { words } = this.records
    const at = this.records.indexOf(group)
    if (words[at + 1 + index] === 0) return Number.NaN
    const sum = at + this.firstSum + 2 * index
    const upper = words[sum + 1]
    if (part === 'upper') return upper
    const lower = words[sum] >>> 0
    return part === 'near' ? upper * 2 ** 32 + lower : lower
  }
}

/** A figure of each group, such as a sum. */
export interface FigureValues {
  /** Bytes that the figure uses in addition to the records. */
  readonly bytes?: number
  /** Makes room for the groups with numbers below `size`. @throws KernelFull */
  grow?(size: number): void
  /** Adds rows. The scratch memory has the group of each row. */
  add?(rows: SelectedRows): void
  /** Copies the values to the heap. After that, the kernel's memory can be freed. */
  copyToHeap?(): void
  /** Returns the figure of a group as PostgreSQL prints it; null if no row of the group has a value. */
  textOf(group: number): string | null
}

/** Exact sum of a column whose values have `scale` digits after the point. */
export class Sums implements FigureValues {
  constructor(
    private readonly records: GroupRecords,
    private readonly column: number,
    private readonly index: number,
    private readonly scale: number,
  ) {}

  add(rows: SelectedRows): void {
    this.records.add(rows, this.column, this.index)
  }

  /** Returns a part of the sum, by which groups are sorted; NaN if no row of the group has a value. */
  partOf(group: number, part: SumPart): number {
    return this.records.partOf(group, this.index, part)
  }

  textOf(group: number): string | null {
    if (Number.isNaN(this.partOf(group, 'near'))) return null
    const units = (BigInt(this.partOf(group, 'upper')) << 32n) + BigInt(this.partOf(group, 'lower'))
    return printUnits(String(units), this.scale)
  }
}

/**
 * Greatest or least value of each group. For least values the kernel stores codes minus one: then the code of no value, which is
 * the least integer, becomes the greatest.
 */
export class Extremes implements FigureValues {
  private readonly codes: GroupWords

  constructor(
    memory: Reservations,
    private readonly column: number,
    private readonly isLeast: boolean,
    private readonly printer: Printer,
  ) {
    this.codes = new GroupWords(memory, 2)
  }

  get bytes(): number {
    return this.codes.bytes
  }

  grow(size: number): void {
    const { codes, isLeast } = this
    const from = codes.size
    codes.grow(size)
    const { words } = codes
    const end = codes.indexOf(size)
    for (let at = codes.indexOf(from); at < end; at += 2) {
      words[at] = isLeast ? LOW_NONE - 1 : LOW_NONE
      words[at + 1] = isLeast ? HIGH_NONE - 1 : HIGH_NONE
    }
  }

  add(rows: SelectedRows): void {
    const { kernel, scratch, bits, bytes } = rows
    const extreme = rows.isWide(this.column) ? kernel.wasm.extreme64 : kernel.wasm.extreme32
    extreme(bits, bytes, scratch.numbers, rows.addressOf(this.column), this.codes.address, Number(this.isLeast))
  }

  copyToHeap(): void {
    this.codes.copyToHeap()
  }

  textOf(group: number): string | null {
    return this.printer.print(this.codeOf(group))
  }

  private codeOf(group: number): Code {
    const { words } = this.codes
    const at = this.codes.indexOf(group)
    if (!this.isLeast) return codeOfHalves(words[at + 1], words[at])
    const low = (words[at] + 1) | 0
    return codeOfHalves(low === 0 ? (words[at + 1] + 1) | 0 : words[at + 1], low)
  }
}

/** Names of the rows to which groups refer: all rows of a group have the same reference, and so the same name. D92 */
export class NameCodes implements FigureValues {
  constructor(
    private readonly records: GroupRecords,
    private readonly column: number,
    private readonly index: number,
    private readonly printer: Printer,
  ) {}

  add(rows: SelectedRows): void {
    this.records.keep(rows, this.column, this.index)
  }

  /** Returns the code of a group's name; NaN if the group has none. */
  codeOf(group: number): number {
    const code = this.records.nameOf(group, this.index)
    return code === NO_CODE ? Number.NaN : code
  }

  textOf(group: number): string | null {
    return this.printer.print(this.codeOf(group))
  }
}

/** Returns the ranks of texts by their codes. Call it again in each step, since a new array may have replaced the last one. */
export type ReadRanks = () => Uint32Array

/** Greatest or least text of each group. */
export class TextExtremes implements FigureValues {
  /** Code of the text by group; 0: no row of the group has a text. */
  private codes = new Int32Array(0)

  constructor(
    private readonly column: number,
    private readonly isLeast: boolean,
    private readonly readRanks: ReadRanks,
    private readonly printer: Printer,
  ) {}

  get bytes(): number {
    return this.codes.byteLength
  }

  grow(size: number): void {
    const codes = new Int32Array(size)
    codes.set(this.codes)
    this.codes = codes
  }

  add(rows: SelectedRows): void {
    const { scratch, slots, first } = rows
    const { words } = rows.kernel
    const { codes: best, isLeast } = this
    const ranks = this.readRanks()
    const column = (rows.addressOf(this.column) >>> 2) - first
    const numbers = (scratch.numbers >>> 2) - first
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at]
      const code = words[column + slot]
      if (code === NO_CODE) continue
      const group = words[numbers + slot]
      const known = best[group]
      if (known === code) continue
      if (known === 0 || ranks[code] < ranks[known] === isLeast) best[group] = code
    }
  }

  textOf(group: number): string | null {
    return this.codes[group] === 0 ? null : this.printer.print(this.codes[group])
  }
}
