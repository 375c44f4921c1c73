import type { Kernel } from './kernel.ts'
import type { Segment } from './segment.ts'
import { SegmentedRows } from './segmentedRows.ts'

/** Rows of a segment. */
const ROWS = 65_536
/** The id is each entity's first property. */
export const ID = 0
/** About what a map takes for an entry. */
const STRAY_BYTES = 48

/** A segment of rows in the order of ids: its first slot and least id. */
interface Run {
  readonly segment: Segment
  readonly first: number
  readonly least: number
}

/** The rows of a table by number, which is their slot, and by id. */
export class Slots extends SegmentedRows {
  rows = 0
  /** Slots of rows that did not come in the order of ids; of the others, ids ascend with the slots. */
  private readonly strays = new Map<number, number>()
  /** Those of them that have been removed. */
  private readonly spare: number[] = []
  /** The segments of the others, with their least ids. */
  private readonly ordered: Run[] = []
  private greatest = Number.NEGATIVE_INFINITY
  private straySegment: { readonly segment: Segment; readonly first: number } | null = null

  constructor(kernel: Kernel, hasTexts: readonly boolean[]) {
    super(kernel, hasTexts, ROWS)
  }

  override get bytes(): number {
    return super.bytes + this.strays.size * STRAY_BYTES
  }

  /** One more than the greatest slot that there can be now. */
  get end(): number {
    return this.segments.length * ROWS
  }

  isLive(slot: number): boolean {
    const segment = this.segmentOf(slot)
    return segment.live > 0 && segment.isLive(slot % ROWS)
  }

  /** The slot of a row; -1: it is not there. */
  find(id: number): number {
    const stray = this.strays.get(id)
    if (stray !== undefined) return stray
    if (!(id <= this.greatest)) return -1
    const at = lastWhere(this.ordered.length, (index) => (this.ordered[index] as Run).least <= id)
    if (at < 0) return -1
    const { segment, first } = this.ordered[at] as Run
    if (segment.live === 0) return -1
    const row = lastWhere(segment.rows, (row) => segment.codeAt(row, ID) <= id)
    return segment.codeAt(row, ID) === id && segment.isLive(row) ? first + row : -1
  }

  /** Returns the row's slot. @throws KernelFull */
  add(codes: Float64Array): number {
    const id = codes[ID] as number
    const slot = id > this.greatest ? this.append(codes, id) : this.stray(codes, id)
    this.rows++
    return slot
  }

  remove(slot: number, id: number): void {
    const segment = this.segmentOf(slot)
    segment.remove(slot % ROWS)
    this.rows--
    if (this.strays.delete(id)) this.spare.push(slot)
    // No row comes there any more: of a table that grows at one end and is emptied at the other, nothing stays.
    else if (segment.live === 0 && segment.rows === ROWS) segment.release()
  }

  private append(codes: Float64Array, id: number): number {
    let last = this.ordered.at(-1)
    if (!last || last.segment.rows === ROWS) {
      last = { ...this.open(), least: id }
      this.ordered.push(last)
    }
    const slot = last.first + last.segment.rows
    last.segment.put(last.segment.rows, codes)
    this.greatest = id
    return slot
  }

  private stray(codes: Float64Array, id: number): number {
    const spare = this.spare.pop()
    if (spare !== undefined) {
      this.replace(spare, codes)
      this.strays.set(id, spare)
      return spare
    }
    if (!this.straySegment || this.straySegment.segment.rows === ROWS) this.straySegment = this.open()
    const { segment, first } = this.straySegment
    const slot = first + segment.rows
    segment.put(segment.rows, codes)
    this.strays.set(id, slot)
    return slot
  }
}

/** The last index at which a test holds that holds for all before it; -1: for none. */
function lastWhere(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low - 1
}
