import type { Row } from '../model/sql.ts'
import { GROUPS_MAX, type GroupSort } from '../model/summary.ts'
import type { Condition } from './conditions.ts'
import { type FigureValues, type Sums, widened } from './groupFigures.ts'
import type { KeyNumbers } from './groupKeys.ts'
import { groupsInOrder, type SortKey } from './groupOrder.ts'
import { Interned, TooManyGroups } from './interned.ts'
import { type Kernel, SEGMENT_ROWS } from './kernel.ts'
import { candidatesOf, matchesOf } from './matches.ts'
import type { RankTable } from './rankTable.ts'
import type { RowStore } from './rowStore.ts'
import type { Segment } from './segment.ts'
import { rowsOf } from './segmentCodes.ts'

/** Maximum combinations of keys that each have a group, with rows or without: about as many as there may be groups. */
const CELLS_MAX = 1 << 18
/** Groups that are printed in one step. */
const STEP_ROWS = 500

/** A property by which rows are grouped. */
export interface GroupedKey {
  readonly numbers: KeyNumbers
  /** The order of texts; null for other kinds. */
  readonly ranks: RankTable | null
  /** Prints a code as PostgreSQL does; null: there is no value. */
  print(code: number): string | null
}

/** The parts of a grouping. */
export interface GroupingParts {
  readonly kernel: Kernel
  readonly store: RowStore
  readonly conditions: readonly Condition[]
  readonly keys: readonly GroupedKey[]
  readonly figures: readonly FigureValues[]
  readonly sorts: readonly GroupSort[]
  /** Releases what was kept for it of the table. */
  onClose(): void
}

/**
 * Forms the groups of a summary from the columns of a table, a segment at a time; the table must not change meanwhile. A row's
 * cell is the number of its combination of keys. Where there can be few cells, each is a group; else those that come are.
 */
export class Grouping {
  total = 0
  /** Rows by group. */
  private counts = new Int32Array(0)
  /** Cells by group; null: each cell is a group. */
  private readonly cells: Interned | null
  /** Combinations of the first keys, by the key behind them: numbered where all cells would be more than a float counts. */
  private readonly combined: (Interned | null)[] = []
  /** Groups that have rows. */
  private groups = new Int32Array(0)
  private readonly sortKeys: readonly SortKey[]

  constructor(private readonly parts: GroupingParts) {
    let size = 1
    for (const { numbers } of parts.keys) {
      const isTooMany = size * numbers.size > Number.MAX_SAFE_INTEGER
      this.combined.push(isTooMany ? new Interned() : null)
      size = (isTooMany ? GROUPS_MAX : size) * numbers.size
    }
    this.cells = size > CELLS_MAX ? new Interned() : null
    if (this.cells === null) this.grow(size)
    this.sortKeys = parts.sorts.flatMap((sort) => this.sortKeysOf(sort))
  }

  /** Forms the groups. False: there are too many. */
  *steps(): Generator<void, boolean> {
    const { store, conditions } = this.parts
    try {
      for (const number of candidatesOf(store, conditions)) {
        this.takeSegment(number)
        yield
      }
    } catch (error) {
      if (error instanceof TooManyGroups) return false
      throw error
    }
    this.findGroups()
    return this.total <= GROUPS_MAX
  }

  /** The groups `[offset, offset + size)` in their order: rows with the keys, the count and the figures. */
  *page(offset: number, size: number): Generator<void, Row[]> {
    const end = Math.min(offset + size, this.total)
    const rows: Row[] = []
    for (const group of yield* groupsInOrder(this.groups, this.sortKeys, offset, end)) {
      rows.push(this.rowOf(group))
      if (rows.length % STEP_ROWS === 0) yield
    }
    return rows
  }

  /** Gives back what it had of the table; groups can still be read. */
  close(): void {
    this.parts.onClose()
  }

  private takeSegment(number: number) {
    const { kernel, store, conditions, keys, figures } = this.parts
    const segment = store.segments[number] as Segment
    const { bits, total } = matchesOf(kernel, store, conditions, [number])
    if (total === 0) return
    const rows = rowsOf(kernel, segment, bits[0] as number, total)
    const groups = this.groupsOf(segment, rows, total, keys)
    for (let at = 0; at < total; at++) (this.counts[groups[at] as number] as number)++
    for (const figure of figures) figure.take(segment, rows, total, groups)
  }

  /** The groups of these rows. */
  private groupsOf(segment: Segment, rows: Int32Array, count: number, keys: readonly GroupedKey[]): Int32Array {
    if (this.cells !== null) return this.numbered(segment, rows, count, this.cells)
    let isFirst = true
    let offset = 0
    for (const { numbers } of keys) {
      const all = numbers.ofAll(segment)
      if (all !== null) {
        offset = offset * numbers.size + all
        if (!isFirst) multiply(groupNumbers, numbers.size, count)
        continue
      }
      offset *= numbers.size
      numbers.read(segment, rows, count, isFirst ? groupNumbers : keyNumbers)
      if (!isFirst) combine(groupNumbers, numbers.size, keyNumbers, count)
      isFirst = false
    }
    if (isFirst) groupNumbers.fill(offset, 0, count)
    else if (offset > 0) for (let at = 0; at < count; at++) (groupNumbers[at] as number) += offset
    return groupNumbers
  }

  private numbered(segment: Segment, rows: Int32Array, count: number, cells: Interned): Int32Array {
    cellNumbers.fill(0, 0, count)
    this.parts.keys.forEach(({ numbers }, index) => {
      const combined = this.combined[index]
      if (combined) for (let at = 0; at < count; at++) cellNumbers[at] = combined.numberOf(cellNumbers[at] as number)
      numbers.read(segment, rows, count, keyNumbers)
      for (let at = 0; at < count; at++) cellNumbers[at] = (cellNumbers[at] as number) * numbers.size + (keyNumbers[at] as number)
    })
    for (let at = 0; at < count; at++) groupNumbers[at] = cells.numberOf(cellNumbers[at] as number)
    if (cells.size > this.counts.length) this.grow(Math.min(2 * cells.size, GROUPS_MAX))
    return groupNumbers
  }

  private grow(size: number) {
    this.counts = widened(this.counts, size)
    for (const figure of this.parts.figures) figure.grow(size)
  }

  private findGroups() {
    const { counts } = this
    // Without keys all rows are one group, also if there are none.
    const isOne = this.parts.keys.length === 0
    for (let group = 0; group < counts.length; group++) if (isOne || (counts[group] as number) > 0) this.total++
    this.groups = new Int32Array(this.total)
    let at = 0
    for (let group = 0; group < counts.length; group++) if (isOne || (counts[group] as number) > 0) this.groups[at++] = group
  }

  private sortKeysOf({ column, isDescending }: GroupSort): SortKey[] {
    const { keys, figures } = this.parts
    const key = keys[column]
    if (key) return [{ read: (group) => this.keyValueOf(group, column, key), isDescending }]
    if (column === keys.length) return [{ read: (group) => this.counts[group] as number, isDescending }]
    // No other figure is a sort.
    const { sortValues } = figures[column - keys.length - 1] as Sums
    return sortValues.map((read) => ({ read, isDescending }))
  }

  private keyValueOf(group: number, column: number, { ranks }: GroupedKey): number {
    const code = this.codeOf(group, column)
    return ranks === null || Number.isNaN(code) ? code : ranks.rankOf(code)
  }

  private rowOf(group: number): Row {
    const { keys, figures } = this.parts
    const texts = keys.map(({ print }, column) => {
      const code = this.codeOf(group, column)
      return Number.isNaN(code) ? null : print(code)
    })
    return [...texts, String(this.counts[group]), ...figures.map((figure) => figure.textOf(group))]
  }

  /** The code of a key of a group; NaN: it has no value. */
  private codeOf(group: number, column: number): number {
    const { keys } = this.parts
    let cell = this.cells === null ? group : this.cells.valueOf(group)
    for (let at = keys.length - 1; ; at--) {
      const { numbers } = keys[at] as GroupedKey
      const number = cell % numbers.size
      if (at === column) return numbers.codeOf(number)
      cell = (cell - number) / numbers.size
      const combined = this.combined[at]
      if (combined) cell = combined.valueOf(cell)
    }
  }
}

// Scratch of one segment.
const groupNumbers = new Int32Array(SEGMENT_ROWS)
const keyNumbers = new Int32Array(SEGMENT_ROWS)
const cellNumbers = new Float64Array(SEGMENT_ROWS)

function combine(numbers: Int32Array, size: number, others: Int32Array, count: number) {
  for (let at = 0; at < count; at++) numbers[at] = (numbers[at] as number) * size + (others[at] as number)
}

function multiply(numbers: Int32Array, size: number, count: number) {
  for (let at = 0; at < count; at++) numbers[at] = (numbers[at] as number) * size
}
