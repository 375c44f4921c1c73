// The copies that a list or summary needs: copies of its tables, and copies from which the person's rights follow. All are of one
// snapshot. D106
import type { ColumnTable } from '../columns/columnTable.ts'
import type { Tables } from '../columns/tables.ts'
import type { Version } from '../memory/questionQueue.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { Entity } from '../model/entity.ts'
import { RightsChanged, type RightsMoment } from './momentRights.ts'

/** Maximum attempts to learn the order of new texts, or to bring copies to one snapshot. After them, the database answers. */
const ATTEMPTS_MAX = 3

/**
 * Returns the copies that a query needs: first those of `tables`, then further copies from which the rights follow. The first of
 * `tables` is the table of the query's entity. Returns null if one of `tables` has no copy.
 */
export function neededCopies(memory: TableCopies, tables: readonly Entity[], moment: RightsMoment | null): NeededCopies | null {
  const own = memory.allOf(tables)
  return own && new NeededCopies(memory, own, moment)
}

export class NeededCopies {
  /** Copies of the query's tables, beginning with the table of its entity, then further copies from which the rights follow. */
  private readonly all: readonly TableCopy[]

  /**
   * `own`: copies of the query's tables. `moment`: has the copies from which the rights follow; null if the rights follow from no
   * copies.
   */
  constructor(
    private readonly memory: TableCopies,
    private readonly own: readonly TableCopy[],
    private readonly moment: RightsMoment | null,
  ) {
    const others = moment?.copies.filter((copy) => !own.includes(copy)) ?? []
    this.all = others.length === 0 ? own : [...own, ...others]
  }

  /** The table of the query's own entity. */
  get table(): ColumnTable {
    return (this.own[0] as TableCopy).columns
  }

  /** The tables of the query, by their names. */
  get tables(): Tables {
    return tablesIn(this.own)
  }

  /** Version of the query's copies; null if a copy is unusable, or the copies are of different snapshots. */
  get version(): Version | null {
    return this.memory.versionOf(this.all, this.own)
  }

  /** Reason why `version` is null. */
  get reason(): 'noCopy' | 'behind' | 'apart' {
    for (const { unusable } of this.all) if (unusable !== null) return unusable
    return 'apart'
  }

  /**
   * Brings all copies to one snapshot, taken after the request arrived. Does nothing if the decision on the rights has already
   * done so. @throws ApiError
   */
  async refresh(): Promise<void> {
    const { all, moment } = this
    // The copies were brought to one snapshot when the rights were decided.
    if (moment !== null && all.length === moment.copies.length && this.version !== null) return
    await this.memory.refresh(all)
  }

  /** Returns what `waitForCopies` returns for all copies. `prepare`: called with the table of the query's entity. */
  waitFor(prepare: (table: ColumnTable) => Promise<void> | null, attempt: number): Promise<void> | null {
    return waitForCopies(this.memory, this.all, () => prepare(this.table), attempt)
  }

  /**
   * Requires that the rights of the request still follow from the copies. Call it in the turn of the event loop in which the rows
   * are found. @throws RightsChanged
   */
  requireRights(): void {
    if (this.moment !== null && !this.moment.followFrom(this.all)) throw new RightsChanged(this.all.map(({ entity }) => entity))
  }
}

/** Returns a function that finds the table of one of these copies by its name. */
export function tablesIn(copies: readonly TableCopy[]): Tables {
  return (name) => copies.find(({ entity }) => entity.table === name)?.columns
}

/**
 * Returns a promise to await before copies are searched: until they have applied changed rows, until all of them are of one
 * snapshot again, or until `prepare` has learned the order of new texts. Null: there is nothing more to wait for, so the caller
 * must search in this turn of the event loop. `attempt`: from 1.
 */
export function waitForCopies(
  memory: TableCopies,
  copies: readonly TableCopy[],
  prepare: () => Promise<void> | null,
  attempt: number,
): Promise<void> | null {
  for (const copy of copies) {
    const applied = copy.changesApplied()
    if (applied !== null) return applied
    if (copy.unusable !== null) return null
  }
  if (attempt > ATTEMPTS_MAX) return null
  if (memory.versionOf(copies) === null) return memory.refresh(copies)
  return prepare()
}
