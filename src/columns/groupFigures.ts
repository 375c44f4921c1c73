// Figures of a summary's groups in columns: counts, exact sums, least and greatest values.
import { type Code, codeOfHalves, HIGH_NONE, LOW_NONE, NO_CODE } from './codes.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import { type Printer, printUnits } from './printers.ts'
import type { SelectedRows } from './selectedRows.ts'

/**
 * Parts of a sum by which groups are sorted: a float near it, which decides in nearly all cases; then its upper and its lower
 * half.
 */
export const SUM_PARTS = ['near', 'upper', 'lower'] as const
type SumPart = (typeof SUM_PARTS)[number]

/** Integers of 32 bits for groups, the same number for each. They are in the kernel's memory until `leave` copies them out. */
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

  /** Makes room for groups up to, not including, `size`; the words of new ones are 0. @throws KernelFull */
  grow(size: number): void {
    const address = this.memory.reserve(roundedSize(4 * this.length * size))
    const from = this.address >>> 2
    this.words.copyWithin(address >>> 2, from, from + this.length * this.size)
    ;[this.address, this.size] = [address, size]
  }

  /** Copies them out of the kernel's memory, and frees that. */
  leave(): void {
    const from = this.address >>> 2
    this.words = this.words.slice(from, from + this.length * this.size)
    this.address = 0
  }

  /** The index of the first word of a group. */
  indexOf(group: number): number {
    return (this.address >>> 2) + group * this.length
  }
}

/**
 * Records in the kernel's memory: the count of rows, the count of values of each sum, the codes of names, the sums in units of
 * their last digit.
 */
export class GroupRecords {
  /** Integers of 32 bits of a record. */
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

  /** Makes room for groups up to, not including, `size`. @throws KernelFull */
  grow(size: number): void {
    this.records.grow(size)
  }

  /** Counts rows, unless the first sum does so. */
  count({ kernel, scratch, bits, bytes }: SelectedRows): void {
    if (this.sums === 0) kernel.wasm.count(bits, bytes, scratch.numbers, this.records.address, 4 * this.length)
  }

  /** Adds the codes of a column to the sum at `index`. */
  add(rows: SelectedRows, column: number, index: number): void {
    const { kernel, scratch, bits, bytes } = rows
    const add = rows.isWide(column) ? kernel.wasm.add64 : kernel.wasm.add32
    const one = index === 0 ? 1 : 0
    const value = 4 * (1 + index)
    const sum = 4 * (this.firstSum + 2 * index)
    add(bits, bytes, scratch.numbers, rows.addressOf(column), this.records.address, 4 * this.length, one, value, sum)
  }

  /** Keeps the code of the name at `index`, which all rows of a group have. */
  keep(rows: SelectedRows, column: number, index: number): void {
    const { kernel, scratch, bits, bytes } = rows
    const name = this.records.address + 4 * (1 + this.sums + index)
    kernel.wasm.keep32(bits, bytes, scratch.numbers, rows.addressOf(column), name, 4 * this.length)
  }

  /** The groups that have rows. */
  found(): Int32Array {
    const { length } = this
    const { words, address, size } = this.records
    const groups = new Int32Array(size)
    let count = 0
    for (let group = 0, at = address >>> 2; group < size; group++, at += length) if (words[at] !== 0) groups[count++] = group
    return groups.subarray(0, count)
  }

  /** Copies the records out of the kernel's memory, and frees that. */
  leave(): void {
    this.records.leave()
  }

  countOf(group: number): number {
    return this.records.words[this.records.indexOf(group)]
  }

  /** The number of values of the sum at `index`. */
  valuesOf(group: number, index: number): number {
    return this.records.words[this.records.indexOf(group) + 1 + index]
  }

  /** The code of the name at `index`. */
  nameOf(group: number, index: number): number {
    return this.records.words[this.records.indexOf(group) + 1 + this.sums + index]
  }

  /** Part of a sum in units; NaN: no row of the group has a value. */
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

/** A figure of each group. */
export interface FigureValues {
  /** Bytes in addition to those of the records. */
  readonly bytes?: number
  /** Makes room for groups up to, not including, `size`. @throws KernelFull */
  grow?(size: number): void
  /** Adds rows; the scratch memory has the group of each. */
  take?(rows: SelectedRows): void
  /** Copies the values out of the kernel's memory, and frees that. */
  leave?(): void
  /** The figure of a group as PostgreSQL prints it; null: none of its rows has a value. */
  textOf(group: number): string | null
}

/** The exact sum of a column, whose values have `scale` digits after the point. */
export class Sums implements FigureValues {
  constructor(
    private readonly records: GroupRecords,
    private readonly column: number,
    private readonly index: number,
    private readonly scale: number,
  ) {}

  take(rows: SelectedRows): void {
    this.records.add(rows, this.column, this.index)
  }

  /** Part of the sum, by which groups are sorted; NaN: no row of the group has a value. */
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
 * The greatest or the least value of each group. For least values the kernel keeps codes minus one, so that no value, the least
 * integer, becomes the greatest.
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

  take(rows: SelectedRows): void {
    const { kernel, scratch, bits, bytes } = rows
    const extreme = rows.isWide(this.column) ? kernel.wasm.extreme64 : kernel.wasm.extreme32
    extreme(bits, bytes, scratch.numbers, rows.addressOf(this.column), this.codes.address, Number(this.isLeast))
  }

  leave(): void {
    this.codes.leave()
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

/** The name of each group, whose rows have one name. D92 */
export class NameCodes implements FigureValues {
  constructor(
    private readonly records: GroupRecords,
    private readonly column: number,
    private readonly index: number,
    private readonly printer: Printer,
  ) {}

  take(rows: SelectedRows): void {
    this.records.keep(rows, this.column, this.index)
  }

  /** The code of a group's name; NaN: it has none. */
  codeOf(group: number): number {
    const code = this.records.nameOf(group, this.index)
    return code === NO_CODE ? Number.NaN : code
  }

  textOf(group: number): string | null {
    return this.printer.print(this.codeOf(group))
  }
}

/** Returns the ranks of texts by their codes. It is called anew in each step, since the array may be another one later. */
export type ReadRanks = () => Uint32Array

/** The greatest or the least text. */
export class TextExtremes implements FigureValues {
  /** Codes; 0: none. */
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

  take(rows: SelectedRows): void {
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
