import { ClusteredRows } from './clusteredRows.ts'
import type { Condition } from './conditions.ts'
import { type Kernel, KernelFull } from './kernel.ts'
import { candidatesOf } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Segment } from './segment.ts'
import type { SegmentedRows } from './segmentedRows.ts'
import { ID, type Slots } from './slots.ts'

/** Smaller tables are looked through as a whole. */
const ROWS_MIN = 100_000
/** An estimate of what it takes to take over a row. */
const MS_OF_ROW = 0.0006
/** A range of fewer rows than one in so many is worth it. */
const SELECTIVE = 8
/** To match the rows of a segment takes about as long as to cut so many rows that match into buckets. */
const SEGMENT_AS_ROWS = 1_000
/** Of one table: each costs as much memory as the table. */
const CLUSTERS_MAX = 2
/** Segments are not made full, and each row has a number. */
const MEMORY_FACTOR = 1.4

export interface ClusterOptions {
  /** Default: 100,000. */
  readonly rowsMin?: number
  /** Rows of a bucket. */
  readonly bucketRows?: number
  /** What it takes to take over a row; default: 0.0006. */
  readonly msOfRow?: number
  /** Default: 1,000. See `segmentsWorth`. */
  readonly segmentAsRows?: number
}

/** The rows of a table, and the same clustered by properties of which lists ask for ranges, or by which they are sorted. */
export class Clusters {
  private readonly made: ClusteredRows[] = []
  /** By property: how long lists have looked at rows that a range of it would have ruled out. */
  private readonly spentMs: Float64Array

  constructor(
    private readonly kernel: Kernel,
    private readonly hasTexts: readonly boolean[],
    private readonly slots: Slots,
    private readonly options: ClusterOptions = {},
  ) {
    this.spentMs = new Float64Array(hasTexts.length)
  }

  get bytes(): number {
    return this.made.reduce((sum, rows) => sum + rows.bytes, 0)
  }

  /** About what one more would take. */
  get nextBytes(): number {
    return MEMORY_FACTOR * this.slots.bytes
  }

  /** Where the fewest rows are left to be looked at. */
  nearest(conditions: readonly Condition[]): SegmentedRows {
    let nearest: SegmentedRows = this.slots
    if (this.made.length === 0) return nearest
    let least = rowsLeft(nearest, conditions)
    for (const rows of this.made) {
      const own = conditions.filter(({ place }) => place === rows.place)
      if (!rows.isWhole || own.length === 0) continue
      const left = rowsLeft(rows, own)
      if (left < least) [nearest, least] = [rows, left]
    }
    return nearest
  }

  /** All rows, near to each other by a key of a page; null: there are none. */
  near({ place, ranks }: PageKey): ClusteredRows | null {
    return this.made.find((rows) => ranks === null && rows.isWhole && rows.place === place) ?? null
  }

  /** Of how many segments the rows are matched in the time in which so many rows that match are cut into buckets. */
  segmentsWorth(total: number): number {
    return total / (this.options.segmentAsRows ?? SEGMENT_AS_ROWS)
  }

  /** So many rows of a list were found among these, in so many milliseconds. */
  note(rows: SegmentedRows, conditions: readonly Condition[], total: number, ms: number): void {
    if (rows !== this.slots || SELECTIVE * total > this.slots.rows) return
    for (const condition of conditions)
      if (this.canCluster(condition)) this.spentMs[condition.place] = (this.spentMs[condition.place] as number) + ms
  }

  /** A page by this key of so many rows was found among these, in so many milliseconds. */
  noteOrder(rows: SegmentedRows, { place, ranks }: PageKey, total: number, ms: number): void {
    // By ids the table's rows lie as they are, and few rows are sorted sooner than found elsewhere.
    if (rows !== this.slots || place === ID || ranks !== null || SELECTIVE * total < this.slots.rows) return
    if (!this.isMade(place)) this.spentMs[place] = (this.spentMs[place] as number) + ms
  }

  /** The property by which rows are to be clustered next, since that costs less than it would have saved; null: none. */
  get due(): number | null {
    const { rowsMin = ROWS_MIN, msOfRow = MS_OF_ROW } = this.options
    if (this.slots.rows < rowsMin || this.made.length === CLUSTERS_MAX || this.made.some(({ isWhole }) => !isWhole))
      return null
    let most = 0
    for (let place = 1; place < this.spentMs.length; place++)
      if ((this.spentMs[place] as number) > (this.spentMs[most] as number)) most = place
    return (this.spentMs[most] as number) > msOfRow * this.slots.rows ? most : null
  }

  /** Rows that are to be taken over then. */
  begin(place: number): ClusteredRows {
    const rows = new ClusteredRows(this.kernel, this.hasTexts, this.slots, place, this.options.bucketRows)
    this.spentMs.fill(0)
    this.made.push(rows)
    return rows
  }

  /** The table's row of this slot is so now. */
  put(slot: number, codes: Float64Array): void {
    for (let at = this.made.length - 1; at >= 0; at--) {
      const rows = this.made[at] as ClusteredRows
      this.orGiveUp(rows, () => rows.put(slot, codes))
    }
  }

  /** The table has no row of this slot any more. */
  drop(slot: number): void {
    for (const rows of this.made) rows.drop(slot)
  }

  /** Does `work` with these rows, or gives them up where the memory does not do for them: the table can be without. */
  orGiveUp(rows: ClusteredRows, work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      rows.release()
      this.made.splice(this.made.indexOf(rows), 1)
    }
  }

  release(): void {
    for (const rows of this.made.splice(0)) rows.release()
  }

  /** One code or some next to each other, from both sides. */
  private canCluster({ place, least, greatest, isComplement, byRank }: Condition): boolean {
    if (isComplement || byRank !== null || this.hasTexts[place]) return false
    return Number.isFinite(least) && Number.isFinite(greatest) && !this.isMade(place)
  }

  private isMade(place: number): boolean {
    return this.made.some((rows) => rows.place === place)
  }
}

function rowsLeft(rows: SegmentedRows, conditions: readonly Condition[]): number {
  let sum = 0
  for (const number of candidatesOf(rows, conditions)) sum += (rows.segments[number] as Segment).rows
  return sum
}
