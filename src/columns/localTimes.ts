// Wall-clock times of instants in a time zone, computed for the slots of a run.
import type { Zone } from '../model/zone.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import { RUN_SLOTS, type SelectedRows } from './selectedRows.ts'

/** Bytes of a span's entry in the table: the instant at which the offset changes, and the offsets before and after it. */
const ENTRY = 24
/** Maximum spans: 10,000 years of a zone whose offset changed twice within a week. */
const SPANS_MAX = 2 ** 19

/** The spans of time into which a range of instants is divided, so that each has at most one change of the offset. */
interface Spans {
  readonly from: readonly number[]
  readonly offsets: readonly number[]
  readonly length: number
  readonly count: number
}

export class LocalTimes {
  /** Address of the times of a run's slots; 0: not reserved yet. */
  private times = 0
  private table = 0

  private constructor(
    private readonly memory: Reservations,
    private readonly column: number,
    private readonly least: number,
    private readonly spans: Spans,
  ) {}

  /** Times of a column of instants from `least` to `greatest`; null: there are too many spans. */
  static of(memory: Reservations, column: number, zone: Zone, least: number, greatest: number): LocalTimes | null {
    const { from, offsets } = zone.offsetsBetween(least, greatest)
    let length = greatest - least + 1
    for (let at = 2; at < from.length; at++) length = Math.min(length, from[at] - from[at - 1])
    const count = Math.ceil((greatest - least + 1) / length)
    return count > SPANS_MAX ? null : new LocalTimes(memory, column, least, { from, offsets, length, count })
  }

  /** Writes the times of rows as codes of 64 bits, and returns their address. @throws KernelFull */
  take(rows: SelectedRows): number {
    const { column, least, spans } = this
    if (this.times === 0) {
      this.times = this.memory.reserve(8 * RUN_SLOTS)
      this.makeTable()
    }
    const { wasm } = rows.kernel
    const write = rows.isWide(column) ? wasm.local64 : wasm.local32
    const middle = least + (spans.length - 1) / 2
    write(rows.addressOf(column), rows.count, this.times, middle, 1 / spans.length, this.table, spans.count)
    return this.times
  }

  private makeTable() {
    const { from, offsets, length, count } = this.spans
    this.table = this.memory.reserve(roundedSize(ENTRY * count))
    const entries = new Float64Array(this.memory.kernel.words.buffer, this.table, (ENTRY / 8) * count)
    for (let span = 0, at = 0; span < count; span++) {
      const end = this.least + length * (span + 1)
      const before = offsets[at]
      if (at + 1 < from.length && from[at + 1] < end) at++
      const entry = (ENTRY / 8) * span
      entries[entry] = from[at]
      entries[entry + 1] = before
      entries[entry + 2] = offsets[at]
    }
  }
}
