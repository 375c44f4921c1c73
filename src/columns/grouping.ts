// Groups of a summary: forms them from columns, a segment a step. The table must not change between the steps.
import type { Row } from '../model/sql.ts'
import { GROUPS_MAX, type GroupSort } from '../model/summary.ts'
import type { Condition } from './conditions.ts'
import { type FigureValues, type GroupRecords, SUM_PARTS, type Sums } from './groupFigures.ts'
import { type GroupKeyEncoder, TooManyGroups, ValueIds } from './groupKeys.ts'
import { groupsInOrder, type SortKey } from './groupOrder.ts'
import type { Reservations } from './kernel.ts'
import { candidatesOf, matchesOf } from './matches.ts'
import type { Printer } from './printers.ts'
import type { RankTable } from './rankTable.ts'
import type { RowStore } from './rowStore.ts'
import type { Segment } from './segment.ts'
import { SelectedRows } from './selectedRows.ts'

/** Maximum combinations of keys that each have a record, with rows or without: about as many as there may be groups. */
const CELLS_MAX = 1 << 18
/** Groups for which there is room at first, where they are numbered as they come. */
const GROUPS_FIRST = 1 << 10
/** Groups that are printed in one step. */
const STEP_ROWS = 500

/** A property by which rows are grouped. */
export interface GroupedKey {
  readonly numbers: GroupKeyEncoder
  /** The order of texts; null for other kinds. */
  readonly ranks: RankTable | null
  readonly printer: Printer
}

export interface GroupingParts {
  readonly memory: Reservations
  readonly store: RowStore
  readonly conditions: readonly Condition[]
  readonly keys: readonly GroupedKey[]
  readonly records: GroupRecords
  readonly figures: readonly FigureValues[]
  readonly sorts: readonly GroupSort[]
  /** Releases what was kept for it of the table. */
  onClose(): void
}

/** A group is the number of a combination of keys; if there can be too many, combinations are numbered as they come. */
export class Grouping {
  /** Groups that have rows. */
  private groups: Int32Array = new Int32Array(0)
  /** Numbers of the combinations of the keys up to this one; null: the combinations themselves are few. */
  private readonly combined: (ValueIds | null)[] = []
  /** Groups for which there is room. */
  private room = 0
  private readonly sortKeys: readonly SortKey[]

  constructor(private readonly parts: GroupingParts) {
    this.sortKeys = parts.sorts.flatMap((sort) => this.sortKeysOf(sort))
  }

  get total(): number {
    return this.groups.length
  }

  /** Bytes of the groups that are formed, whether they have left the table's memory or not. */
  get bytes(): number {
    const { keys, records, figures } = this.parts
    const numbers = [...this.combined, ...keys.map(({ numbers }) => numbers)]
    return [records, ...figures, ...numbers].reduce((sum, part) => sum + (part?.bytes ?? 0), this.groups.byteLength)
  }

  /** Forms the groups. @throws TooManyGroups; KernelFull */
  *steps(): Generator<void, void> {
    const { store, conditions, keys, records } = this.parts
    let size = 1
    for (const { numbers } of keys) {
      const isFew = size * numbers.size <= CELLS_MAX
      this.combined.push(isFew ? null : new ValueIds())
      size = isFew ? size * numbers.size : GROUPS_MAX
    }
    this.grow(this.combined.at(-1) ? GROUPS_FIRST : size)
    for (const segment of candidatesOf(store, conditions)) {
      this.takeSegment(segment)
      yield
    }
    const groups = records.found()
    // Without keys all rows are one group, also if there are none.
    this.groups = keys.length === 0 ? new Int32Array(1) : groups
    if (this.total > GROUPS_MAX) throw new TooManyGroups()
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

  /** Takes the groups out of the table's memory, so that they can still be read when it is closed. */
  leave(): this {
    this.parts.records.leave()
    return this
  }

  /** Gives back what it had of the table. */
  close(): void {
    this.parts.memory.release()
    this.parts.onClose()
  }

  private takeSegment(segment: Segment) {
    const { conditions, records, figures } = this.parts
    const { bits } = matchesOf(conditions, [segment])
    if (bits[0] === undefined) return
    const rows = new SelectedRows(segment.kernel, segment, bits[0])
    this.number(rows)
    records.count(rows)
    for (const figure of figures) figure.take?.(rows)
  }

  /** Writes the groups of rows into the kernel's scratch. */
  private number(rows: SelectedRows) {
    const { words, scratch } = rows.kernel
    words.fill(0, scratch.groups >> 2, (scratch.groups >> 2) + rows.segment.rows)
    this.parts.keys.forEach(({ numbers }, index) => {
      const combined = this.combined[index] ?? null
      numbers.take(rows, combined ? 0 : numbers.size, combined ? scratch.keys : scratch.groups)
      if (combined === null) return
      const [groups, keys] = [scratch.groups >> 2, scratch.keys >> 2]
      for (const row of rows.numbers)
        words[groups + row] = combined.numberOf(words[groups + row] * numbers.size + words[keys + row])
    })
    const size = this.combined.at(-1)?.size ?? 0
    if (size > this.room) this.grow(Math.min(2 * size, GROUPS_MAX))
  }

  private grow(size: number) {
    this.room = size
    this.parts.records.grow(size)
    for (const figure of this.parts.figures) figure.grow?.(size)
  }

  private sortKeysOf({ column, isDescending }: GroupSort): SortKey[] {
    const { keys, records, figures } = this.parts
    const key = keys[column]
    if (key?.ranks) return [{ isDescending, numberOf: (group) => (key.ranks as RankTable).rankOf(this.codeOf(group, column)) }]
    if (key) return [{ isDescending, numberOf: (group) => this.codeOf(group, column) }]
    if (column === keys.length) return [{ isDescending, numberOf: (group) => records.countOf(group) }]
    // No sort names another figure.
    const sum = figures[column - keys.length - 1] as Sums
    return SUM_PARTS.map((part) => ({ isDescending, numberOf: (group) => sum.partOf(group, part) }))
  }

  private rowOf(group: number): Row {
    const { keys, records, figures } = this.parts
    const texts = keys.map(({ printer }, column) => {
      const code = this.codeOf(group, column)
      return Number.isNaN(code) ? null : printer.print(code)
    })
    return [...texts, String(records.countOf(group)), ...figures.map((figure) => figure.textOf(group))]
  }

  /** The code of a key of a group; NaN: it has no value. */
  private codeOf(group: number, column: number): number {
    const { keys } = this.parts
    let number = group
    for (let at = keys.length - 1; ; at--) {
      const { numbers } = keys[at]
      const combined = this.combined[at]
      if (combined) number = combined.valueOf(number)
      const own = number % numbers.size
      if (at === column) return numbers.codeOf(own)
      number = (number - own) / numbers.size
    }
  }
}
