import type { Period } from '../model/summary.ts'
import { dateOf, daysOf } from './codes.ts'
import { Interned } from './interned.ts'
import type { Kernel } from './kernel.ts'
import { NO_CODE, type Segment } from './segment.ts'
import { codesOf } from './segmentCodes.ts'

const DAY_SECONDS = 86_400

/** Numbers for the values by which rows are grouped: 0 stands for none. */
export interface KeyNumbers {
  /** One more than the greatest number that there can be. */
  readonly size: number
  /** The number of all rows of a segment; null: they differ. */
  ofAll(segment: Segment): number | null
  /** Writes the numbers of `rows[0, count)` of a segment. */
  read(segment: Segment, rows: Int32Array, count: number, into: Int32Array): void
  /** The code of the value of a number, or of the first instant of its period; NaN: none. */
  codeOf(number: number): number
}

/** Whole codes from `least` to `greatest`, each by itself. */
export class WholeNumbers implements KeyNumbers {
  readonly size: number

  /** `offset`: the number of the code 0, if numbers and codes are the same; else that of the least is 1. */
  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
    private readonly offset: number,
    greatest: number,
  ) {
    this.size = greatest + offset + 1
  }

  ofAll(segment: Segment): number | null {
    const least = segment.leastOf(this.column)
    return least === segment.greatestOf(this.column) && !segment.hasNone[this.column] ? least + this.offset : null
  }

  read(segment: Segment, rows: Int32Array, count: number, into: Int32Array): void {
    const { column, offset } = this
    const address = segment.addresses[column] as number
    if (segment.isWide[column]) readWide(this.kernel.floats, address >> 3, offset, rows, count, into)
    else readNarrow(this.kernel.words, address >> 2, offset, rows, count, into)
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : number - this.offset
  }
}

function readNarrow(words: Int32Array, base: number, offset: number, rows: Int32Array, count: number, into: Int32Array) {
  for (let at = 0; at < count; at++) {
    const code = words[base + (rows[at] as number)] as number
    into[at] = code === NO_CODE ? 0 : code + offset
  }
}

function readWide(floats: Float64Array, base: number, offset: number, rows: Int32Array, count: number, into: Int32Array) {
  for (let at = 0; at < count; at++) {
    const code = floats[base + (rows[at] as number)] as number
    // NaN becomes 0.
    into[at] = (code + offset) | 0
  }
}

/** Periods of dates or instants. */
export class PeriodNumbers implements KeyNumbers {
  readonly size: number
  /** Numbers by the day, as far as they are known; 0: not yet. */
  private readonly known: Int32Array
  private readonly leastDay: number
  private readonly first: number

  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
    private readonly period: Period,
    /** Codes of a day: 86,400 of instants, 1 of dates. */
    private readonly unit: number,
    [least, greatest]: readonly [least: number, greatest: number],
  ) {
    this.leastDay = Math.floor(least / unit)
    const greatestDay = Math.floor(greatest / unit)
    this.first = ordinalOf(period, this.leastDay)
    this.size = ordinalOf(period, greatestDay) - this.first + 2
    this.known = new Int32Array(greatestDay - this.leastDay + 1)
  }

  ofAll(segment: Segment): number | null {
    if (segment.hasNone[this.column]) return null
    const [least, greatest] = [segment.leastOf(this.column), segment.greatestOf(this.column)]
    const number = this.ofDay(Math.floor(least / this.unit))
    return number === this.ofDay(Math.floor(greatest / this.unit)) ? number : null
  }

  read(segment: Segment, rows: Int32Array, count: number, into: Int32Array): void {
    const { unit, leastDay, known } = this
    const codes = codesOf(this.kernel, segment, this.column, rows, count)
    const least = leastDay * unit
    for (let at = 0; at < count; at++) {
      const code = codes[at] as number
      if (Number.isNaN(code)) into[at] = 0
      else {
        // To 0, which is many times quicker than Math.floor.
        const day = ((code - least) / unit) | 0
        into[at] = (known[day] as number) || this.ofDay(day + leastDay)
      }
    }
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : this.unit * firstDayOf(this.period, this.first + number - 1)
  }

  private ofDay(day: number): number {
    const number = ordinalOf(this.period, day) - this.first + 1
    this.known[day - this.leastDay] = number
    return number
  }
}

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
export class CodeNumbers implements KeyNumbers {
  private readonly codes = new Interned()

  constructor(
    private readonly kernel: Kernel,
    private readonly column: number,
  ) {}

  get size(): number {
    return Interned.SIZE_MAX + 1
  }

  ofAll(): null {
    return null
  }

  /** @throws TooManyGroups */
  read(segment: Segment, rows: Int32Array, count: number, into: Int32Array): void {
    const codes = codesOf(this.kernel, segment, this.column, rows, count)
    for (let at = 0; at < count; at++) {
      const code = codes[at] as number
      into[at] = Number.isNaN(code) ? 0 : 1 + this.codes.numberOf(code)
    }
  }

  codeOf(number: number): number {
    return number === 0 ? Number.NaN : this.codes.valueOf(number - 1)
  }
}

/** Codes of a day of dates, or of instants. */
export function dayUnit(kind: string): number {
  return kind === 'instant' ? DAY_SECONDS : 1
}
