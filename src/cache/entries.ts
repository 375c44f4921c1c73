import type { Change } from '../changes/change.ts'
import type { Snapshot } from '../changes/snapshot.ts'
import type { TableCopy } from '../columns/tableCopy.ts'
import type { Selection } from './selection.ts'

/**
 * Includes all changes of its table before number `next`, and those that the snapshot sees, which are never taken in again.
 */
export interface CacheEntry {
  readonly selection: Selection
  readonly generation: number
  next: number
  readonly snapshot: Snapshot | null
}

export interface TotalEntry extends CacheEntry {
  total: number
  readonly snapshot: Snapshot
}

export interface PageEntry<T> extends CacheEntry {
  readonly content: T
  readonly bytes: number
}

/** The cached state of a selection, noted before the database is asked. */
export interface Baseline {
  readonly selection: Selection
  readonly generation: number
  /** The number of the table's next change. */
  readonly next: number
  /** Null: not known. */
  readonly total: number | null
  /** Under which the total was counted. */
  readonly counted: Snapshot | null
  /** The table in columns, if it is so as of the baseline; null: there is none. */
  readonly columns: TableCopy | null
}

/** The total of a selection under the very snapshot that a page was read under. */
export interface TotalAtSnapshot {
  readonly snapshot: Snapshot
  readonly total: number
  /** The changes since the baseline that the snapshot sees. */
  readonly seen: readonly Change[]
}
