// Periods of instants in a time zone, as numbers for the keys of groups. D119
import type { Period } from '../model/summary.ts'
import { ascendingStarts, type Zone } from '../model/zone.ts'
import type { Code } from './codes.ts'
import { firstDayOf, type GroupKeyEncoder, ordinalOf } from './groupKeys.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import type { SelectedRows } from './selectedRows.ts'

/**
 * Length of a span of the table in seconds, as an exponent of 2. A span is shorter than a period, even if clocks are put forward
 * by some hours in that period.
 */
const SHIFTS: Readonly<Record<Period, number>> = { day: 16, week: 19, month: 21, quarter: 22, year: 24 }

/** A key whose values are the periods of instants from `least` to `greatest` in a time zone. */
export class ZonedPeriods implements GroupKeyEncoder {
  readonly size: number
  private readonly first: number
  private readonly last: number
  private readonly seconds: number
  private shift: number
  /** Address of the table that groups.wat describes; 0 until the table is made. */
  private table = 0

  constructor(
    private readonly memory: Reservations,
    private readonly column: number,
    private readonly period: Period,
    private readonly zone: Zone,
    private readonly least: number,
    private readonly greatest: number,
  ) {
    this.first = ordinalOf(period, zone.dayAt(least))
    this.last = ordinalOf(period, zone.dayAt(greatest))
    this.size = this.last - this.first + 2
    this.seconds = greatest - least + 1
    this.shift = SHIFTS[period]
  }

  /** @throws KernelFull */
  addNumbers(rows: SelectedRows, factor: number, into: number): void {
    if (this.table === 0) this.makeTable()
    const { column, least, seconds, shift, table } = this
    const { wasm } = rows.kernel
    const address = rows.addressOf(column)
    if (rows.isWide(column)) wasm.zoned64(address, rows.count, into, factor, BigInt(least), BigInt(seconds), shift, table)
    else wasm.zoned32(address, rows.count, into, factor, least, seconds, shift, table)
  }

  codeOf(number: number): Code {
    return number === 0 ? Number.NaN : this.zone.startOf(firstDayOf(this.period, this.first + number - 1))
  }

  private makeTable() {
    for (; ; this.shift--) {
      const length = 2 ** this.shift
      const spans = Math.ceil(this.seconds / length)
      const table = this.memory.reserve(roundedSize(8 * (spans + 1)))
      if (this.fill(table, spans, length)) {
        this.table = table
        return
      }
    }
  }

  /** Writes the table. Returns false if two periods begin in the same span, which is then too long. */
  private fill(table: number, spans: number, length: number): boolean {
    const { least, greatest, period, first, last } = this
    const { words } = this.memory.kernel
    const base = table >>> 2
    const startOf = ascendingStarts(this.zone.offsetsBetween(least, greatest))
    let next = 0
    let before = Number.NEGATIVE_INFINITY
    for (let ordinal = first + 1; ordinal <= last; ordinal++) {
      const start = startOf(firstDayOf(period, ordinal))
      const span = Math.floor((start - least) / length)
      // A period that clocks skip begins at the same instant as the next one, so both may be in one span.
      if (span < next && start !== before) return false
      for (; next <= span; next++) {
        words[base + 2 * next] = ordinal - first
        words[base + 2 * next + 1] = length
      }
      words[base + 2 * span + 1] = start - least - span * length
      before = start
    }
    for (; next <= spans; next++) {
      words[base + 2 * next] = last - first + 1
      words[base + 2 * next + 1] = length
    }
    return true
  }
}
