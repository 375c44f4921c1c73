import type { Kernel } from './kernel.ts'
import { SegmentedRows } from './segmentedRows.ts'
import type { Slots } from './slots.ts'

/** Rows of a segment: with fewer a range is met more closely, with more there are fewer segments to rule out. */
const SEGMENT_ROWS = 8_192
/** How full segments are made, so that rows that come later find room beside those that they are near to. */
const FILL = 0.8
/** Codes that say where buckets begin, for each of them. */
const SAMPLES = 64

/** Rows whose codes lie between two others. */
interface Bucket {
  /** The numbers of its segments. New rows come to the last one. */
  readonly segments: number[]
  /** Slots of rows that have gone. */
  readonly spare: number[]
}

/**
 * The rows of a table once more, near to those whose code of one property is near: so a range of it lies in few segments, whose
 * least and greatest codes rule the others out. Where a row lies never matters for what is found, only for how soon. The
 * rows are taken over step by step, while the table changes.
 */
export class ClusteredRows extends SegmentedRows {
  /** All rows are there. */
  isWhole = false
  isReleased = false
  private readonly codes: Float64Array
  /** The least code of each bucket but the first. */
  private readonly bounds: Float64Array
  /** The last one is of rows without a value. */
  private readonly buckets: Bucket[]
  /** By the number of a segment. */
  private readonly bucketOfSegment: number[] = []
  /** By the slot that a row has in the table, its slot here; -1: it is not here. */
  private places: Int32Array
  /** Slots of the table below it were taken over. */
  private taken = 0

  /** `place`: of the property. */
  constructor(
    kernel: Kernel,
    hasTexts: readonly boolean[],
    private readonly source: Slots,
    readonly place: number,
    private readonly bucketRows = FILL * SEGMENT_ROWS,
  ) {
    super(kernel, hasTexts, SEGMENT_ROWS)
    this.codes = new Float64Array(hasTexts.length)
    this.bounds = this.boundsOf()
    this.buckets = Array.from({ length: this.bounds.length + 2 }, () => ({ segments: [], spare: [] }))
    this.places = new Int32Array(source.end).fill(-1)
  }

  override get bytes(): number {
    return super.bytes + this.places.byteLength
  }

  /** Takes over some more slots of the table. @throws KernelFull */
  takeOver(slots: number): void {
    if (this.isReleased) return
    const end = Math.min(this.taken + slots, this.source.end)
    for (; this.taken < end; this.taken++) {
      if (!this.source.isLive(this.taken)) continue
      this.source.read(this.taken, this.codes)
      this.write(this.taken, this.codes)
    }
    this.isWhole = this.taken === this.source.end
  }

  /** The table's row of this slot is so now. @throws KernelFull */
  put(slot: number, codes: Float64Array): void {
    // The others are taken over later, as they are then.
    if (this.isWhole || slot < this.taken) this.write(slot, codes)
  }

  /** The table has no row of this slot any more. */
  drop(slot: number): void {
    const own = slot < this.places.length ? (this.places[slot] as number) : -1
    if (own < 0) return
    const segment = Math.floor(own / this.segmentRows)
    this.segmentOf(own).remove(own % this.segmentRows)
    this.bucketAt(segment).spare.push(own)
    this.places[slot] = -1
  }

  /**
   * The numbers of segments, in the order of the property's codes: those together whose codes may lie between each other's.
   * Rows without a value come behind all others.
   */
  *inOrder(isDescending: boolean): Generator<readonly number[]> {
    const last = this.buckets.length - 1
    for (let at = 0; at <= last; at++) {
      const { segments } = this.buckets[isDescending ? last - at : at] as Bucket
      if (segments.length > 0) yield segments
    }
  }

  override release(): void {
    this.isReleased = true
    super.release()
  }

  private write(slot: number, codes: Float64Array) {
    if (slot >= this.places.length) this.widen(slot)
    const bucket = this.buckets[this.bucketOf(codes[this.place] as number)] as Bucket
    const own = this.places[slot] as number
    if (own >= 0 && this.bucketAt(Math.floor(own / this.segmentRows)) === bucket) return this.replace(own, codes)
    this.drop(slot)
    const found = this.roomIn(bucket)
    this.replace(found, codes)
    this.places[slot] = found
  }

  private roomIn(bucket: Bucket): number {
    const spare = bucket.spare.pop()
    if (spare !== undefined) return spare
    const last = bucket.segments.at(-1) ?? -1
    const segment = this.segments[last]
    if (segment && segment.rows < this.segmentRows) return last * this.segmentRows + segment.rows
    const { first } = this.open()
    bucket.segments.push(this.segments.length - 1)
    this.bucketOfSegment.push(this.buckets.indexOf(bucket))
    return first
  }

  private bucketAt(segment: number): Bucket {
    return this.buckets[this.bucketOfSegment[segment] as number] as Bucket
  }

  private bucketOf(code: number): number {
    if (Number.isNaN(code)) return this.buckets.length - 1
    let [low, high] = [0, this.bounds.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.bounds[middle] as number) <= code) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Between buckets of about as many rows each, by the codes of some rows. */
  private boundsOf(): Float64Array {
    const { source, place } = this
    const buckets = Math.ceil(source.rows / this.bucketRows)
    const step = Math.max(1, Math.floor(source.end / (SAMPLES * buckets)))
    const codes: number[] = []
    for (let slot = 0; slot < source.end; slot += step) if (source.isLive(slot)) codes.push(source.codeAt(slot, place))
    const sorted = Float64Array.from(codes.filter((code) => !Number.isNaN(code))).sort()
    const bounds = Array.from(
      { length: buckets - 1 },
      (_, index) => sorted[Math.floor(((index + 1) * sorted.length) / buckets)],
    )
    return Float64Array.from(bounds.filter((bound) => bound !== undefined))
  }

  private widen(slot: number) {
    const wider = new Int32Array(2 * slot + 1).fill(-1, this.places.length)
    wider.set(this.places)
    this.places = wider
  }
}
