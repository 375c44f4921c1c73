// Figures of a summary's groups in columns: counts, exact sums, least and greatest values.
import type { Reservations } from './kernel.ts'
import type { Printer } from './printers.ts'
import type { RankTable } from './rankTable.ts'
import type { SelectedRows } from './selectedRows.ts'

/** Parts of a sum by which groups are sorted: a float near it, which decides for nearly all, its upper half, its lower one. */
export const SUM_PARTS = ['near', 'upper', 'lower'] as const
type SumPart = (typeof SUM_PARTS)[number]

/** Records in the kernel's memory: the count of rows, the count of values of each sum, the sums in units of their last digit. */
export class GroupRecords {
  /** Integers of 32 bits of a record. */
  private readonly length: number
  private readonly firstSum: number
  private address = 0
  private size = 0
  private words: Int32Array

  constructor(
    private readonly memory: Reservations,
    private readonly sums: number,
  ) {
    this.firstSum = 2 * Math.ceil((1 + sums) / 2)
    this.length = this.firstSum + 2 * Math.max(1, sums)
    this.words = memory.kernel.words
  }

  get bytes(): number {
    return 4 * this.length * this.size
  }

  /** Makes room for groups up to, not including, `size`. @throws KernelFull */
  grow(size: number): void {
    const address = this.memory.reserve(4 * this.length * size)
    const from = this.address >> 2
    this.words.copyWithin(address >> 2, from, from + this.length * this.size)
    ;[this.address, this.size] = [address, size]
  }

  /** Counts rows, unless the first sum does so. */
  count(rows: SelectedRows): void {
    // A record without sums has room for one that is never read.
    if (this.sums === 0) this.add(rows, rows.kernel.scratch.column, 0, 0)
  }

  /** Adds the floats at an address to the sum at `index`, in so many units each. */
  add({ kernel, segment, bits }: SelectedRows, floats: number, index: number, units: number): void {
    const [one, value, sum] = [index === 0 ? 1 : 0, 4 * (1 + index), 4 * (this.firstSum + 2 * index)]
    const { wasm, scratch } = kernel
    wasm.add(bits, segment.bitmapBytes, scratch.groups, floats, this.address, 4 * this.length, one, value, sum, units)
  }

  /** The groups that have rows. */
  found(): Int32Array {
    const { words, length, size } = this
    const groups = new Int32Array(size)
    let count = 0
    for (let group = 0, at = this.address >> 2; group < size; group++, at += length) if (words[at] !== 0) groups[count++] = group
    return groups.subarray(0, count)
  }

  /** Takes the records out of the kernel's memory. */
  leave(): void {
    const from = this.address >> 2
    this.words = this.words.slice(from, from + this.length * this.size)
    this.address = 0
  }

  countOf(group: number): number {
    return this.words[this.indexOf(group)]
  }

  /** The number of values of the sum at `index`. */
  valuesOf(group: number, index: number): number {
    return this.words[this.indexOf(group) + 1 + index]
  }

  /** Part of a sum in units; NaN: no row of the group has a value. */
  partOf(group: number, index: number, part: SumPart): number {
    const at = this.indexOf(group)
    if (this.words[at + 1 + index] === 0) return Number.NaN
    const sum = at + this.firstSum + 2 * index
    const upper = this.words[sum + 1]
    if (part === 'upper') return upper
    const lower = this.words[sum] >>> 0
    return part === 'near' ? upper * 2 ** 32 + lower : lower
  }

  private indexOf(group: number): number {
    return (this.address >> 2) + group * this.length
  }
}

/** A figure of each group. */
export interface FigureValues {
  /** Bytes beside those of the records. */
  readonly bytes?: number
  /** Makes room for groups up to, not including, `size`. */
  grow?(size: number): void
  /** Takes in rows, whose groups the kernel's scratch has. */
  take?(rows: SelectedRows): void
  /** The figure of a group as PostgreSQL prints it; null: none of its rows has a value. */
  textOf(group: number): string | null
}

/** The exact sum of a column, whose values have `scale` digits behind the point. */
export class Sums implements FigureValues {
  constructor(
    private readonly records: GroupRecords,
    private readonly column: number,
    private readonly index: number,
    private readonly scale: number,
  ) {}

  take(rows: SelectedRows): void {
    this.records.add(rows, rows.floatsOf(this.column), this.index, 10 ** this.scale)
  }

  /** Part of the sum, by which groups are sorted; NaN: no row of the group has a value. */
  partOf(group: number, part: SumPart): number {
    return this.records.partOf(group, this.index, part)
  }

  textOf(group: number): string | null {
    if (Number.isNaN(this.partOf(group, 'near'))) return null
    const units = String((BigInt(this.partOf(group, 'upper')) << 32n) + BigInt(this.partOf(group, 'lower')))
    if (this.scale === 0) return units
    const sign = units.startsWith('-') ? '-' : ''
    const digits = units.slice(sign.length).padStart(this.scale + 1, '0')
    return `${sign}${digits.slice(0, -this.scale)}.${digits.slice(-this.scale)}`
  }
}

/** The least or the greatest value. */
export class Extremes implements FigureValues {
  private codes = new Float64Array(0)

  /** `ranks`: the order of texts; null for other kinds. */
  constructor(
    private readonly column: number,
    private readonly isGreatest: boolean,
    private readonly ranks: RankTable | null,
    private readonly printer: Printer,
  ) {}

  get bytes(): number {
    return this.codes.byteLength
  }

  grow(size: number): void {
    const codes = new Float64Array(size).fill(Number.NaN)
    codes.set(this.codes)
    this.codes = codes
  }

  take(rows: SelectedRows): void {
    const { codes: best, ranks, isGreatest } = this
    const { words, floats, scratch } = rows.kernel
    const [first, groups] = [rows.floatsOf(this.column) >> 3, scratch.groups >> 2]
    for (const row of rows.numbers) {
      const code = floats[first + row]
      if (Number.isNaN(code)) continue
      const group = words[groups + row]
      const known = best[group]
      if (known === code) continue
      const isLess = ranks === null ? code < known : ranks.rankOf(code) < ranks.rankOf(known)
      if (Number.isNaN(known) || isLess !== isGreatest) best[group] = code
    }
  }

  textOf(group: number): string | null {
    const code = this.codes[group]
    return Number.isNaN(code) ? null : this.printer.print(code)
  }
}
