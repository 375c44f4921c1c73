import type { Filter } from '../model/query.ts'
import type { Clusters } from './clusters.ts'
import type { Bounds, Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { type Matches, matchesOf } from './matches.ts'
import type { SegmentedRows } from './segmentedRows.ts'

/** What filters have found, and among which rows. */
export interface Matched {
  readonly filters: readonly Filter[]
  readonly rows: SegmentedRows
  readonly matches: Matches
}

/** What was matched last, if no row has changed since: a page is looked for right after its list was counted. */
export class LastMatches {
  private last: Matched | null = null

  constructor(
    private readonly kernel: Kernel,
    private readonly clusters: Clusters,
  ) {}

  /** The bitmaps hold until the next call. */
  of(filters: readonly Filter[], conditions: readonly Condition[], bounds: Bounds | undefined): Matched {
    if (this.last?.filters === filters) return this.last
    const startMs = performance.now()
    const rows = this.clusters.nearest(conditions)
    const matched = { filters, rows, matches: matchesOf(this.kernel, rows, conditions) }
    this.clusters.note(rows, conditions, matched.matches.total, performance.now() - startMs)
    this.last = bounds === undefined ? matched : null
    return matched
  }

  /** A row has changed. */
  forget(): void {
    this.last = null
  }

  /** Bitmaps of these rows are made for another list. */
  forgetAmong(rows: SegmentedRows): void {
    if (this.last?.rows === rows) this.last = null
  }
}
