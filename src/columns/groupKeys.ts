// Keys of a summary's groups: numbers for whole codes, for periods of time, and for other codes as they come.
import { GROUPS_MAX, type Period } from '../model/summary.ts'
import { dateOf, daysOf } from './codes.ts'
import type { Reservations } from './kernel.ts'
import type { SelectedRows } from './selectedRows.ts'

/** Thrown for more groups than a summary may have. */
export class TooManyGroups extends Error {}

/** Numbers for the values by which rows are grouped: 0 stands for none. */
export interface GroupKeyEncoder {
  /** One more than the greatest number that there can be. */
  readonly size: number
  /** Bytes that the numbers take while groups are read. */
  readonly bytes?: number
  /** Makes each row's integer at the address `into` itself times `factor`, plus the row's number. */
  take(rows: SelectedRows, factor: number, into: number): void
  /** The code of the value of a number, or of the first instant of its period; NaN: none. */
  codeOf(number: number): number
}

/** Whole codes up to `greatest`, each by itself, where no segment has floats. */
export class IntegerKey implements GroupKeyEncoder {
  readonly size: number

  /** `offset`: the number of the code 0. */
  constructor(
    private readonly column: number,
    private readonly offset: number,
    greatest: number,
  ) {
    this.size = greatest + offset + 1
  }

  take({ kernel, segment }: SelectedRows, factor: number, into: number): void {
    kernel.wasm.key32(segment.addresses[this.column], segment.rows, into, factor, this.offset)
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : number - this.offset
  }
}

/** Periods of dates or instants. */
export class PeriodNumbers implements GroupKeyEncoder {
  readonly size: number
  private readonly first: number
  private readonly leastDay: number
  private readonly days: number
  /** The address of the number of each day; 0: not yet. */
  private table = 0

  /** `unit`: codes of a day. */
  constructor(
    private readonly memory: Reservations,
    private readonly column: number,
    private readonly period: Period,
    private readonly unit: number,
    [least, greatest]: readonly [least: number, greatest: number],
  ) {
    this.leastDay = Math.floor(least / unit)
    const greatestDay = Math.floor(greatest / unit)
    this.days = greatestDay - this.leastDay + 1
    this.first = ordinalOf(period, this.leastDay)
    this.size = ordinalOf(period, greatestDay) - this.first + 2
  }

  /** @throws KernelFull */
  take(rows: SelectedRows, factor: number, into: number): void {
    const { unit, leastDay, days } = this
    if (this.table === 0) this.makeTable()
    const column = rows.floatsOf(this.column)
    // Codes are integers: between the last of a day and the first of the next one lies half of one.
    const middle = leastDay * unit + (unit - 1) / 2
    rows.kernel.wasm.period64(column, rows.segment.rows, into, factor, middle, 1 / unit, this.table, days)
  }

  private makeTable() {
    this.table = this.memory.reserve(4 * this.days)
    const { words } = this.memory.kernel
    let ordinal = this.first
    let end = firstDayOf(this.period, ordinal + 1) - this.leastDay
    for (let day = 0; day < this.days; day++) {
      if (day === end) end = firstDayOf(this.period, ++ordinal + 1) - this.leastDay
      words[(this.table >> 2) + day] = ordinal - this.first + 1
    }
  }

  codeOf(number: number): number {
    if (number === 0) return Number.NaN
    return this.unit * Math.max(firstDayOf(this.period, this.first + number - 1), FIRST_DAY)
  }
}

/** PostgreSQL's calendar begins within a year, whose periods begin with it. */
const FIRST_DAY = daysOf(-4713, 11, 24)
const MONTHS_OF = { year: 12, quarter: 3, month: 1 } as const
/** 2000-01-03 was a Monday. */
const MONDAY = 2

/** The number of the period in which a day lies, counted in days since 2000. */
function ordinalOf(period: Period, day: number): number {
  if (period === 'day') return day
  if (period === 'week') return Math.floor((day - MONDAY) / 7)
  const { year, month } = dateOf(day)
  return Math.floor((12 * year + month - 1) / MONTHS_OF[period])
}

function firstDayOf(period: Period, ordinal: number): number {
  if (period === 'day') return ordinal
  if (period === 'week') return 7 * ordinal + MONDAY
  const months = ordinal * MONTHS_OF[period]
  const year = Math.floor(months / 12)
  return daysOf(year, months - 12 * year + 1, 1)
}

/** Any codes, numbered as they come. */
export class HashedKey implements GroupKeyEncoder {
  readonly size = GROUPS_MAX + 1
  private readonly codes = new ValueIds()

  constructor(private readonly column: number) {}

  get bytes(): number {
    return this.codes.bytes
  }

  /** @throws TooManyGroups */
  take(rows: SelectedRows, factor: number, into: number): void {
    const { words, floats } = rows.kernel
    const [first, base] = [rows.floatsOf(this.column) >> 3, into >> 2]
    for (const row of rows.numbers) {
      const code = floats[first + row]
      const number = Number.isNaN(code) ? 0 : 1 + this.codes.numberOf(code)
      words[base + row] = words[base + row] * factor + number
    }
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : this.codes.valueOf(number - 1)
  }
}

/** An estimate: a float, and its entry in a Map. */
const INTERNED_BYTES = 56

/** Numbers for floats that are not NaN, from 0 in the order in which they came. */
export class ValueIds {
  private readonly numbers = new Map<number, number>()
  private readonly values: number[] = []

  get size(): number {
    return this.values.length
  }

  get bytes(): number {
    return INTERNED_BYTES * this.size
  }

  /** @throws TooManyGroups */
  numberOf(value: number): number {
    const known = this.numbers.get(value)
    if (known !== undefined) return known
    if (this.size === GROUPS_MAX) throw new TooManyGroups()
    this.numbers.set(value, this.size)
    return this.values.push(value) - 1
  }

  /** The value of a number. */
  valueOf(number: number): number {
    return this.values[number]
  }
}
