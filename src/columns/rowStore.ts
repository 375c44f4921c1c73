// Rows of a table in segments, ordered like the leaves of a B-tree: by one property, then by id.
import { firstNotBefore } from './bisect.ts'
import { compareCodes } from './codes.ts'
import { IdIndex } from './idIndex.ts'
import { type Kernel, SEGMENT_ROWS } from './kernel.ts'
import { type Bound, Segment } from './segment.ts'

/** How full segments are made that are prepared, so that rows of the same range that come later find room. */
const FILL = 0.85
/** The id is each entity's first property. */
export const ID = 0

/**
 * Segments of rows. A range of the property, or a page by it, lies in few of them; within one, rows have no order. A slot is the
 * number of a segment and of a row in it; it changes when a segment is split.
 */
export class RowStore {
  rows = 0
  /** By number; those that were released have no rows. */
  readonly segments: Segment[] = []
  /** The segments in the order of their rows. */
  private readonly leaves: Segment[] = []
  /** Numbers of segments that were released. */
  private readonly freeNumbers: number[] = []
  readonly ids: IdIndex
  private readonly codes: Float64Array

  /** `column`: of the property by which the rows lie. `segmentRows`: a multiple of 64. */
  constructor(
    readonly kernel: Kernel,
    columns: number,
    readonly column: number,
    readonly segmentRows = SEGMENT_ROWS,
  ) {
    this.ids = new IdIndex(kernel.bytesMax)
    this.codes = new Float64Array(columns)
  }

  get bytes(): number {
    return this.segments.reduce((sum, { bytes }) => sum + bytes, this.ids.bytes)
  }

  /** Prepares segments for about so many rows, by the codes that some of them have. @throws KernelFull */
  prepare(rows: number, sample: Float64Array): void {
    const segments = Math.min(Math.ceil(rows / (FILL * this.segmentRows)), sample.length >> 3)
    sample.sort()
    for (let at = 0; at < segments; at++) {
      const code = sample[Math.floor((at * sample.length) / segments)]
      if (at === 0 || !Object.is(code, (this.leaves.at(-1) as Segment).begin.code))
        this.open(this.leaves.length, { code, id: Number.NEGATIVE_INFINITY })
    }
  }

  codeAt(slot: number, column: number): number {
    return this.segmentOf(slot).codeAt(slot % this.segmentRows, column)
  }

  /** Reads all codes of these rows, one row after the other. */
  readAll(slots: readonly number[], into: Float64Array): void {
    for (let at = 0; at < slots.length; ) {
      const number = Math.floor(slots[at] / this.segmentRows)
      const first = number * this.segmentRows
      let end = at + 1
      while (end < slots.length && Math.floor(slots[end] / this.segmentRows) === number) end++
      this.segments[number].readAll(slots, first, at, end, into)
      at = end
    }
  }

  /** Adds a row that is not there. @throws KernelFull */
  add(codes: Float64Array): void {
    const id = codes[ID]
    const slot = this.makeRoom({ code: codes[this.column], id })
    this.segmentOf(slot).put(slot % this.segmentRows, codes)
    this.ids.set(id, slot)
    this.rows++
  }

  /** Adds or replaces a row. @throws KernelFull */
  put(codes: Float64Array): void {
    const id = codes[ID]
    const slot = this.ids.get(id)
    if (slot >= 0 && Object.is(this.codeAt(slot, this.column), codes[this.column]))
      this.segmentOf(slot).put(slot % this.segmentRows, codes)
    else {
      if (slot >= 0) this.removeAt(slot, id)
      this.add(codes)
    }
  }

  remove(id: number): void {
    const slot = this.ids.get(id)
    if (slot >= 0) this.removeAt(slot, id)
  }

  private segmentOf(slot: number): Segment {
    return this.segments[Math.floor(slot / this.segmentRows)]
  }

  private removeAt(slot: number, id: number) {
    const at = this.leafOf({ code: this.codeAt(slot, this.column), id })
    this.ids.delete(id)
    this.rows--
    const segment = this.segmentOf(slot)
    segment.remove(slot % this.segmentRows)
    if (segment.live > 0) return
    this.leaves.splice(at, 1)
    segment.release()
    this.freeNumbers.push(segment.number)
  }

  /** A free slot for a row. @throws KernelFull */
  private makeRoom(key: Bound): number {
    if (this.leaves.length === 0) this.open(0, key)
    for (;;) {
      const at = this.leafOf(key)
      const segment = this.leaves[at]
      const row = segment.freeRow()
      if (row >= 0) return segment.number * this.segmentRows + row
      this.split(at, key)
    }
  }

  /** The index of the leaf in which a row is, or would be. */
  private leafOf(key: Bound): number {
    // All that is less than the others is in the first leaf.
    return firstNotBefore(1, this.leaves.length, (at) => compare(this.leaves[at].begin, key) <= 0) - 1
  }

  private open(at: number, begin: Bound): Segment {
    const number = this.freeNumbers.pop() ?? this.segments.length
    const segment = new Segment(this.kernel, this.segmentRows, this.codes.length, number, begin)
    this.segments[number] = segment
    this.leaves.splice(at, 0, segment)
    return segment
  }

  /** Adds a segment behind a full one: empty for rows that come in order, else with half of its rows. */
  private split(at: number, key: Bound) {
    const segment = this.leaves[at]
    const isAppended = at === this.leaves.length - 1 && this.isBehindAll(segment, key)
    const bound = isAppended ? key : middleOf(segment, this.column)
    const other = this.open(at + 1, bound)
    if (isAppended) return
    for (let row = 0; row < segment.rows; row++) {
      const id = segment.codeAt(row, ID)
      if (compare({ code: segment.codeAt(row, this.column), id }, bound) < 0) continue
      segment.readAll([row], 0, 0, 1, this.codes)
      const to = other.rows
      other.put(to, this.codes)
      segment.remove(row)
      this.ids.set(id, other.number * this.segmentRows + to)
    }
    segment.tighten()
  }

  private isBehindAll(segment: Segment, { code, id }: Bound): boolean {
    const greatest = segment.hasNone[this.column] ? Number.NaN : segment.greatestOf(this.column)
    return compare({ code, id }, { code: greatest, id: segment.greatestOf(ID) }) > 0
  }
}

/** Returns where the greater half of a full segment's rows begins: at a code, or, if all have the same, at an id. */
function middleOf(segment: Segment, column: number): Bound {
  const sorted = codesOf(segment, column)
  const middle = sorted[sorted.length >> 1]
  if (!Object.is(middle, sorted[0])) return { code: middle, id: Number.NEGATIVE_INFINITY }
  const next = sorted.find((code) => !Object.is(code, middle))
  if (next !== undefined) return { code: next, id: Number.NEGATIVE_INFINITY }
  const ids = codesOf(segment, ID)
  return { code: middle, id: ids[ids.length >> 1] }
}

/** In ascending order; NaN, which is no value, comes last. */
function codesOf(segment: Segment, column: number): Float64Array {
  return Float64Array.from({ length: segment.rows }, (_, row) => segment.codeAt(row, column)).sort()
}

function compare(one: Bound, other: Bound): number {
  return compareCodes(one.code, other.code) || one.id - other.id
}
