// Computes the groups of a summary from the rows that matched when it began, one run of slots in each step. Rows may change
// between steps.
import type { Row } from '../model/sql.ts'
import { GROUPS_MAX, type GroupSort } from '../model/summary.ts'
import type { Code } from './codes.ts'
import type { ColumnStore } from './columnStore.ts'
import { type FigureValues, type GroupRecords, type NameCodes, type ReadRanks, SUM_PARTS, type Sums } from './groupFigures.ts'
import { type GroupKeyEncoder, TooManyGroups, ValueIds } from './groupKeys.ts'
import { groupsInOrder, type SortKey } from './groupOrder.ts'
import type { Reservations } from './kernel.ts'
import type { Printer } from './printers.ts'
import type { RelatedColumns } from './relatedColumns.ts'
import { RUN_SLOTS, Scratch, SelectedRows } from './selectedRows.ts'

/**
 * Maximum number of possible combinations of keys: about `GROUPS_MAX`. Up to this maximum, each combination gets a record, even
 * if no row has the combination.
 */
const CELLS_MAX = 1 << 18
/** Number of groups for which memory is reserved at first, if groups are numbered as rows are read. */
const GROUPS_FIRST = 1 << 10
/** Number of groups that are printed in one step. */
const STEP_ROWS = 500

/** A property by which rows are grouped. */
export interface GroupedKey {
  /**
   * Encoder of the key's values. Null if another key decides the value: that key is a reference, and the value is the name of the
   * row to which it leads.
   */
  readonly encoder: GroupKeyEncoder | null
  /** Values of a key without an encoder. Null if the key has an encoder. */
  readonly names: NameCodes | null
  /** Reads the ranks of the key's texts; null if its values are not texts. */
  readonly readRanks: ReadRanks | null
  readonly printer: Printer
}

export interface GroupingParts {
  readonly memory: Reservations
  readonly store: ColumnStore
  /** Address of the bitmap of matching rows. The grouping owns this bitmap, clears it, and frees it. */
  readonly bits: number
  readonly keys: readonly GroupedKey[]
  readonly records: GroupRecords
  readonly figures: readonly FigureValues[]
  /** Columns of the rows that references lead to; null if the summary needs none. */
  readonly related: RelatedColumns | null
  readonly sorts: readonly GroupSort[]
  /** Called once, when all rows are read. Changed rows make no difference to the groups from then on. */
  onCounted(): void
}

/**
 * The groups of a summary. A group is the number of a combination of keys. If too many combinations are possible, they are
 * numbered in the order in which rows have them.
 */
export class Grouping {
  /** Numbers of the groups that have rows. */
  private groups: Int32Array = new Int32Array(0)
  /**
   * For each key: the combinations of its values with the values of earlier keys, numbered in the order in which rows have them.
   * Null if few combinations are possible: then the number is computed from the values.
   */
  private readonly combined: (ValueIds<number> | null)[] = []
  /** Number of groups for which memory is reserved. */
  private room = 0
  private scratch: Scratch | null = null
  /** Number of slots that the grouping reads. No row of the summary is in a later slot. */
  private readonly slots: number
  private isCounting = true
  /** Error that `countRow` has caught; null if there was none. */
  private failure: unknown = null
  private readonly figures: readonly FigureValues[]
  private readonly encoders: readonly GroupKeyEncoder[]

  constructor(private readonly parts: GroupingParts) {
    const { store, keys, figures } = parts
    this.slots = store.slotsInUse
    this.figures = [...figures, ...keys.flatMap(({ names }) => names ?? [])]
    this.encoders = keys.flatMap(({ encoder }) => encoder ?? [])
  }

  get total(): number {
    return this.groups.length
  }

  /** Bytes of the groups so far, in the kernel's memory and on the heap. */
  get bytes(): number {
    const parts = [
      this.isCounting ? this.parts.related : null,
      this.parts.records,
      ...this.figures,
      ...this.combined,
      ...this.encoders,
    ]
    return parts.reduce((sum, part) => sum + (part?.bytes ?? 0), this.groups.byteLength)
  }

  /** Computes the groups. @throws TooManyGroups; KernelFull */
  *steps(): Generator<void, void> {
    const { keys, records } = this.parts
    for (let first = 0; first < this.slots; first += RUN_SLOTS) if (this.countRun(first)) yield
    if (this.failure !== null) throw this.failure
    this.begin()
    this.endCounting()
    const groups = records.found()
    // A summary without keys has one group, even if no row matches.
    this.groups = keys.length === 0 ? new Int32Array(1) : groups
    if (this.total > GROUPS_MAX) throw new TooManyGroups()
  }

  /** Counts the row of a slot, unless it was counted before. Call this before the row changes or is removed. */
  countRow(slot: number): void {
    const { store, bits, related } = this.parts
    const { words } = store.kernel
    const word = (bits >>> 2) + (slot >> 5)
    const bit = 1 << (slot & 31)
    if (!this.isCounting || (words[word] & bit) === 0) return
    words[word] = words[word] & ~bit
    try {
      this.count(SelectedRows.single(store, this.begin(), slot, related))
    } catch (error) {
      // The error must not prevent the change of the row. The next step throws it.
      this.failure = error
      this.endCounting()
    }
  }

  /** Returns the groups `[offset, offset + size)` in their order, as rows of keys, count and figures. */
  *page(offset: number, size: number): Generator<void, Row[]> {
    const end = Math.min(offset + size, this.total)
    const rows: Row[] = []
    const sortKeys = this.parts.sorts.flatMap((sort) => this.sortKeysOf(sort))
    for (const group of yield* groupsInOrder(this.groups, sortKeys, offset, end)) {
      rows.push(this.rowOf(group))
      if (rows.length % STEP_ROWS === 0) yield
    }
    return rows
  }

  /** Copies the groups to the heap, so that they can be read after `close`. */
  copyToHeap(): this {
    this.parts.records.copyToHeap()
    for (const figure of this.figures) figure.copyToHeap?.()
    return this
  }

  /** Frees the kernel memory that the grouping has reserved. */
  close(): void {
    this.endCounting()
    this.parts.memory.release()
  }

  /** Returns the scratch memory. The first call reserves it, and memory for the groups. @throws KernelFull */
  private begin(): Scratch {
    if (this.scratch !== null) return this.scratch
    const scratch = new Scratch(this.parts.memory)
    let size = 1
    for (const encoder of this.encoders) {
      const isFew = size * encoder.size <= CELLS_MAX
      this.combined.push(isFew ? null : new ValueIds())
      size = isFew ? size * encoder.size : GROUPS_MAX
    }
    this.grow(this.combined.at(-1) ? GROUPS_FIRST : size)
    this.scratch = scratch
    return scratch
  }

  private endCounting() {
    const { store, bits, onCounted } = this.parts
    if (!this.isCounting) return
    this.isCounting = false
    store.freeBitmap(bits)
    onCounted()
  }

  /** Counts the rows of a run of slots. Returns false if no row of the run matches. @throws TooManyGroups; KernelFull */
  private countRun(first: number): boolean {
    if (this.failure !== null) throw this.failure
    const { store, bits, related } = this.parts
    const { words, wasm } = store.kernel
    const count = Math.min(RUN_SLOTS, this.slots - first)
    const own = bits + first / 8
    if (wasm.countBoth(own, own, count / 8) === 0) return false
    this.count(SelectedRows.ofRun(store, this.begin(), first, count, own, related))
    words.fill(0, own >>> 2, (own >>> 2) + count / 32)
    return true
  }

  private count(rows: SelectedRows) {
    this.number(rows)
    this.parts.records.count(rows)
    for (const figure of this.figures) figure.add?.(rows)
  }

  /** Writes the group of each row into the scratch memory. */
  private number(rows: SelectedRows) {
    const { numbers: into, keys: own } = rows.scratch
    // Without keys, no number is written: all are 0 from the beginning.
    this.encoders.forEach((encoder, index) => {
      const combined = this.combined[index]
      encoder.addNumbers(rows, index === 0 || combined ? 0 : encoder.size, combined ? own : into)
      if (combined) combine(rows, index === 0, encoder.size, combined)
    })
    const size = this.combined.at(-1)?.size ?? 0
    if (size > this.room) this.grow(Math.min(2 * size, GROUPS_MAX))
  }

  private grow(size: number) {
    this.room = size
    this.parts.records.grow(size)
    for (const figure of this.figures) figure.grow?.(size)
  }

  private sortKeysOf({ column, isDescending }: GroupSort): SortKey[] {
    const { keys, records, figures } = this.parts
    const key = keys[column]
    if (key?.readRanks) {
      const ranks = key.readRanks()
      const { names } = key
      const codeOf =
        names === null ? (group: number) => this.codeOf(group, column) as number : (group: number) => names.codeOf(group)
      return [{ isDescending, numberOf: (group) => ranks[codeOf(group)] ?? Number.NaN }]
    }
    if (key) {
      const near: SortKey = { isDescending, numberOf: (group) => Number(this.codeOf(group, column)) }
      return key.encoder?.isLarge ? [near, { isDescending, numberOf: (group) => beyond(this.codeOf(group, column)) }] : [near]
    }
    if (column === keys.length) return [{ isDescending, numberOf: (group) => records.countOf(group) }]
    // A figure by which groups are sorted is always a sum.
    const sum = figures[column - keys.length - 1] as Sums
    return SUM_PARTS.map((part) => ({ isDescending, numberOf: (group) => sum.partOf(group, part) }))
  }

  private rowOf(group: number): Row {
    const { keys, records, figures } = this.parts
    const texts = keys.map(({ printer }, column) => printer.print(this.codeOf(group, column)))
    return [...texts, String(records.countOf(group)), ...figures.map((figure) => figure.textOf(group))]
  }

  /** Returns the code of a group's key; NaN if the rows of the group have no value. */
  private codeOf(group: number, column: number): Code {
    const { names, encoder: wanted } = this.parts.keys[column]
    if (names !== null) return names.codeOf(group)
    let number = group
    for (let at = this.encoders.length - 1; ; at--) {
      const encoder = this.encoders[at]
      const combined = this.combined[at]
      if (combined) number = combined.valueOf(number)
      const own = number % encoder.size
      if (encoder === wanted) return encoder.codeOf(own)
      number = (number - own) / encoder.size
    }
  }
}

/** Returns by how much a code is greater than the nearest float; negative if it is less. */
function beyond(code: Code): number {
  return typeof code === 'bigint' ? Number(code - BigInt(Number(code))) : 0
}

/**
 * Adds one more key to the groups of rows: a new group is the number of a combination of the old group and the number of the
 * key's value. @throws TooManyGroups
 */
function combine(rows: SelectedRows, isFirst: boolean, size: number, combined: ValueIds<number>) {
  const { slots, first, scratch } = rows
  const { words } = rows.kernel
  const groups = (scratch.numbers >>> 2) - first
  const keys = (scratch.keys >>> 2) - first
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at]
    const before = isFirst ? 0 : words[groups + slot]
    words[groups + slot] = combined.numberOf(before * size + words[keys + slot])
  }
}
