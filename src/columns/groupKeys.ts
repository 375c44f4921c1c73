// Encoders for the keys of a summary. They number the codes of a range, periods of time, or any codes in the order in which rows
// are read.
import { GROUPS_MAX, type Period } from '../model/summary.ts'
import { type Code, dateOf, daysOf } from './codes.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import type { SelectedRows } from './selectedRows.ts'

/** Thrown if a summary has more than `GROUPS_MAX` groups. */
export class TooManyGroups extends Error {}

/** Gives numbers to the values of a key. Rows without a value have number 0. */
export interface GroupKeyEncoder {
  /** One more than the greatest number that the encoder can give to a value. */
  readonly size: number
  /** Bytes that the encoder uses while rows are read. */
  readonly bytes?: number
  /** True if a code is or was a bigint. */
  readonly isLarge?: boolean
  /**
   * Multiplies the integer of each slot at the address `into` by `factor`, and adds the number of the value in the slot's row.
   */
  addNumbers(rows: SelectedRows, factor: number, into: number): void
  /**
   * Returns the code of the value with this number, or of the first instant of the period with this number; NaN for number 0, no
   * value.
   */
  codeOf(number: number): Code
}

/** A key whose codes are in a range. The number of a code is its distance from the code just below the range. */
export class IntegerKey implements GroupKeyEncoder {
  readonly size: number
  private readonly before: number
  private readonly wideBefore: bigint

  /** `least`, `greatest`: bounds of the codes, both safe integers. */
  constructor(
    private readonly column: number,
    least: number,
    greatest: number,
  ) {
    this.before = least - 1
    this.wideBefore = BigInt(this.before)
    this.size = greatest - this.before + 1
  }

  addNumbers(rows: SelectedRows, factor: number, into: number): void {
    const { kernel, count } = rows
    const address = rows.addressOf(this.column)
    if (rows.isWide(this.column)) kernel.wasm.key64(address, count, into, factor, this.wideBefore, this.size)
    else kernel.wasm.key32(address, count, into, factor, this.before, this.size)
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : number + this.before
  }
}

/** A key whose values are the periods of dates or instants. */
export class PeriodNumbers implements GroupKeyEncoder {
  readonly size: number
  private readonly first: number
  private readonly leastDay: number
  private readonly days: number
  /**
   * Address of an array with an entry for each day: the number of the period that contains the day. 0 until the array is made.
   */
  private table = 0

  /** `unit`: number of codes in a day. */
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
  addNumbers(rows: SelectedRows, factor: number, into: number): void {
    const { unit, leastDay, days } = this
    if (this.table === 0) this.makeTable()
    const { wasm } = rows.kernel
    const period = rows.isWide(this.column) ? wasm.period64 : wasm.period32
    // The middle of the least day. A code is less than half a day from the middle of its own day, so rounding finds that day.
    const middle = leastDay * unit + (unit - 1) / 2
    period(rows.addressOf(this.column), rows.count, into, factor, middle, 1 / unit, this.table, days)
  }

  private makeTable() {
    this.table = this.memory.reserve(roundedSize(4 * this.days))
    const { words } = this.memory.kernel
    const base = this.table >>> 2
    for (let ordinal = this.first, day = 0; day < this.days; ordinal++) {
      const end = Math.min(firstDayOf(this.period, ordinal + 1) - this.leastDay, this.days)
      for (; day < end; day++) words[base + day] = ordinal - this.first + 1
    }
  }

  codeOf(number: number): number {
    if (number === 0) return Number.NaN
    return this.unit * Math.max(firstDayOf(this.period, this.first + number - 1), FIRST_DAY)
  }
}

/** First day of PostgreSQL's calendar. Each period that contains this day, such as its year, begins on this day. */
const FIRST_DAY = daysOf(-4713, 11, 24)
const MONTHS_OF = { year: 12, quarter: 3, month: 1 } as const
/** Day number of a Monday, 2000-01-03, since 2000-01-01. */
const MONDAY = 2

/**
 * Returns the number of the period that contains a day; consecutive periods have consecutive numbers. `day`: days since
 * 2000-01-01.
 */
export function ordinalOf(period: Period, day: number): number {
  if (period === 'day') return day
  if (period === 'week') return Math.floor((day - MONDAY) / 7)
  const { year, month } = dateOf(day)
  return Math.floor((12 * year + month - 1) / MONTHS_OF[period])
}

/** Returns the first day of the period that has this number, in days since 2000-01-01. */
export function firstDayOf(period: Period, ordinal: number): number {
  if (period === 'day') return ordinal
  if (period === 'week') return 7 * ordinal + MONDAY
  const months = ordinal * MONTHS_OF[period]
  const year = Math.floor(months / 12)
  return daysOf(year, months - 12 * year + 1, 1)
}

/** A key with any codes. A code gets its number when the first row with the code is read. */
export class HashedKey implements GroupKeyEncoder {
  readonly size = GROUPS_MAX + 1
  isLarge = false
  private readonly codes = new ValueIds<Code>()

  constructor(private readonly column: number) {}

  get bytes(): number {
    return this.codes.bytes
  }

  /** @throws TooManyGroups */
  addNumbers(rows: SelectedRows, factor: number, into: number): void {
    const { slots, first } = rows
    const { words } = rows.kernel
    const base = (into >>> 2) - first
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at]
      const code = rows.codeAt(slot, this.column)
      if (typeof code === 'bigint') this.isLarge = true
      const number = Number.isNaN(code) ? 0 : 1 + this.codes.numberOf(code)
      words[base + slot] = words[base + slot] * factor + number
    }
  }

  codeOf(number: number): Code {
    return number === 0 ? Number.NaN : this.codes.valueOf(number - 1)
  }
}

/** Estimated bytes of a value with its number in a Map. */
const INTERNED_BYTES = 56

/** Numbers of values that are not NaN, counted from 0 in the order in which the values came. */
export class ValueIds<Value extends Code> {
  private readonly numbers = new Map<Value, number>()
  private readonly values: Value[] = []

  get size(): number {
    return this.values.length
  }

  get bytes(): number {
    return INTERNED_BYTES * this.size
  }

  /** @throws TooManyGroups */
  numberOf(value: Value): number {
    const known = this.numbers.get(value)
    if (known !== undefined) return known
    if (this.size === GROUPS_MAX) throw new TooManyGroups()
    this.numbers.set(value, this.size)
    return this.values.push(value) - 1
  }

  /** Returns the value that has a number. */
  valueOf(number: number): Value {
    return this.values[number]
  }
}
