import type { Kernel } from './kernel.ts'
import { Segment } from './segment.ts'
import { Zones } from './zones.ts'

/** Rows of codes by their slot: the number of a segment and of a row in it. */
export class SegmentedRows {
  readonly segments: Segment[] = []
  readonly zones: Zones

  /** `segmentRows`: that each segment has room for. */
  constructor(
    private readonly kernel: Kernel,
    private readonly hasTexts: readonly boolean[],
    readonly segmentRows: number,
  ) {
    this.zones = new Zones(hasTexts.length)
  }

  get bytes(): number {
    return this.segments.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  codeAt(slot: number, place: number): number {
    return this.segmentOf(slot).codeAt(slot % this.segmentRows, place)
  }

  /** Reads all codes of a row, to where `at` is. */
  read(slot: number, into: Float64Array, at = 0): void {
    this.segmentOf(slot).read(slot % this.segmentRows, into, at)
  }

  /** Reads all codes of these rows, one row behind the other. */
  readAll(slots: readonly number[], into: Float64Array): void {
    for (let at = 0; at < slots.length; ) {
      const number = Math.floor((slots[at] as number) / this.segmentRows)
      const first = number * this.segmentRows
      let end = at + 1
      while (end < slots.length && Math.floor((slots[end] as number) / this.segmentRows) === number) end++
      ;(this.segments[number] as Segment).readAll(slots, first, at, end, into)
      at = end
    }
  }

  /** Writes over a row; its id stays. @throws KernelFull */
  replace(slot: number, codes: Float64Array): void {
    this.segmentOf(slot).put(slot % this.segmentRows, codes)
  }

  release(): void {
    for (const segment of this.segments) segment.release()
    this.segments.length = 0
  }

  protected segmentOf(slot: number): Segment {
    return this.segments[Math.floor(slot / this.segmentRows)] as Segment
  }

  /** One more segment, without rows, and its first slot. @throws KernelFull */
  protected open(): { readonly segment: Segment; readonly first: number } {
    const number = this.segments.length
    this.zones.open(number)
    const segment = new Segment(this.kernel, this.hasTexts, this.segmentRows, this.zones, number)
    this.segments.push(segment)
    return { segment, first: number * this.segmentRows }
  }
}
