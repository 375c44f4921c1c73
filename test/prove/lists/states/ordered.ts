import { type Collection, type Filter, inOrder, matches, type Row, type Sort } from '../../../support/model.ts'
import type { Change, RowsModel } from './rowsModel.ts'

/** Which rows, in which order: a list without a page. */
export interface Selected {
  readonly collection: Collection
  readonly filters: readonly Filter[]
  readonly sorts: readonly Sort[]
}

/** The rows of a list from one state on, up to the next version. */
export interface Version {
  readonly state: number
  readonly rows: readonly Row[]
}

/** What a list has to show in each of the last states. */
export class OrderedRows {
  private readonly sorts: Sort[]
  /** In the order of their states; the last is that of now. */
  private kept: Version[]

  constructor(
    readonly selected: Selected,
    model: RowsModel,
  ) {
    const { collection, filters, sorts } = selected
    // Behind the id nothing orders rows, and a cursor has no more: a row lies at its place whatever else of it is written.
    const id = sorts.findIndex(({ field }) => field.name === 'Id')
    this.sorts = id < 0 ? [...sorts] : sorts.slice(0, id + 1)
    const rows = [...model.rows[collection].values()].filter((row) => filters.every((filter) => matches(filter, row)))
    this.kept = [{ state: 0, rows: inOrder(rows, this.sorts) }]
  }

  get now(): readonly Row[] {
    return (this.kept.at(-1) as Version).rows
  }

  /** To be called for every state, with what has led to it. */
  take(state: number, changes: readonly Change[]): void {
    let rows = this.now
    for (const { collection, before, after } of changes) {
      if (collection !== this.selected.collection) continue
      if (before && this.selects(before)) rows = rows.toSpliced(this.countUpTo(rows, before) - 1, 1)
      if (after && this.selects(after)) rows = rows.toSpliced(this.countUpTo(rows, after), 0, after)
    }
    if (rows !== this.now) this.kept.push({ state, rows })
  }

  /** Those in force at some state between both, both included; the newest first. */
  versions(first: number, last: number): Version[] {
    const started = this.kept.filter(({ state }) => state <= last)
    const current = started.findLastIndex(({ state }) => state <= first)
    return started.slice(Math.max(current, 0)).reverse()
  }

  /** No reader asks for a state before this one any more. */
  forget(before: number): void {
    const current = this.kept.findLastIndex(({ state }) => state <= before)
    if (current > 0) this.kept = this.kept.slice(current)
  }

  selects(row: Row): boolean {
    return this.selected.filters.every((filter) => matches(filter, row))
  }

  /** How many rows stand before this one or are it, whether or not it is there. */
  countUpTo(rows: readonly Row[], row: Row): number {
    return this.count(rows, (other) => inOrder([other, row], this.sorts)[0] === other)
  }

  countBefore(rows: readonly Row[], row: Row): number {
    return this.count(rows, (other) => other !== row && inOrder([row, other], this.sorts)[0] === other)
  }

  /** How many rows `isWithin` holds for, which all stand before those that it does not hold for. */
  private count(rows: readonly Row[], isWithin: (row: Row) => boolean): number {
    let [low, high] = [0, rows.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isWithin(rows[middle] as Row)) low = middle + 1
      else high = middle
    }
    return low
  }
}
