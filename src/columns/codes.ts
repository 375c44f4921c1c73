// Codes of values that are not texts: numbers in the order of the values. Also days of the calendar, and neighbors of floats.
import type { PlainName } from '../model/kinds.ts'

/** Returns the code of a value as PostgreSQL prints it; null: it has none. */
type Code = (text: string) => number | null

/** Codes by kind; texts have those of a dictionary. Equal values have one code, others codes in their order; none is -0. */
export const numbers: Readonly<Record<PlainName, Code>> = {
  boolean: (text) => Number(text === 't'),
  integer: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : null),
  date: momentCode,
  instant: momentCode,
  decimal: decimalCode,
}

/** Digits that a float keeps: decimals of no more have different floats, and in their order. */
const DIGITS_KEPT = 15

function decimalCode(text: string): number | null {
  if (text === 'NaN') return Number.POSITIVE_INFINITY // above all numbers, and a column with a scale has no infinity
  return text.length <= DIGITS_KEPT || significantOf(text) <= DIGITS_KEPT ? Number(text) : null
}

function significantOf(text: string): number {
  const written = text.includes('.') ? text.replace(/0+$/, '') : text
  return written.replace(/^-?[0.]*/, '').replace('.', '').length
}

/** In seconds. */
export const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400] as const
const MOMENT = /^(\d{4,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)\+00)?( BC)?$/

/** Seconds since 2000 of an instant, days of a date. */
function momentCode(text: string): number | null {
  if (text === 'infinity') return Number.POSITIVE_INFINITY
  if (text === '-infinity') return Number.NEGATIVE_INFINITY
  const [, year, month, day, hour, minute, second, era] = MOMENT.exec(text) ?? []
  if (year === undefined) return null
  const days = daysOf(era ? 1 - Number(year) : Number(year), Number(month), Number(day))
  return hour === undefined ? days : days * DAY + Number(hour) * HOUR + Number(minute) * MINUTE + Number(second)
}

/** Date by its days since 2000-01-01: the inverse of `daysOf`. */
export function dateOf(days: number): { year: number; month: number; day: number } {
  // Eras of 400 years that begin in March: each has as many days. Howard Hinnant, chrono-Compatible Low-Level Date Algorithms.
  const from = days + 730_425
  const era = Math.floor(from / 146_097)
  const inEra = (from - era * 146_097) | 0
  const yearInEra = ((inEra - ((inEra / 1_460) | 0) + ((inEra / 36_524) | 0) - ((inEra / 146_096) | 0)) / 365) | 0
  const inYear = inEra - (365 * yearInEra + (yearInEra >> 2) - ((yearInEra / 100) | 0))
  const march = ((5 * inYear + 2) / 153) | 0
  const month = march < 10 ? march + 3 : march - 9
  const year = yearInEra + era * 400 + (month <= 2 ? 1 : 0)
  return { year, month, day: inYear - (((153 * march + 2) / 5) | 0) + 1 }
}

/** Days from 2000-01-01 to a date of the Gregorian calendar; years before 1 are 0, -1 and so on. */
export function daysOf(year: number, month: number, day: number): number {
  // Years that begin in March have their leap day at the end.
  const from = month > 2 ? year : year - 1
  const inYear = ((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0
  return 365 * from + Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400) + inYear + day - 730_426
}

/** Compares codes: no value, NaN, is greater than any, also than Infinity. */
export function compareCodes(one: number, other: number): number {
  if (one < other) return -1
  if (one > other) return 1
  return one === other ? 0 : Number(Number.isNaN(one)) - Number(Number.isNaN(other))
}

const float = new Float64Array(1)
const bits = new BigInt64Array(float.buffer)

/** The next float below; the least has none. */
export function nextBelow(number: number): number {
  // Between them lies the ordinal of -0.
  if (number === 0) return -Number.MIN_VALUE
  return number === Number.NEGATIVE_INFINITY ? number : floatOf(ordinalOf(number) - 1n)
}

/** The next float above; the greatest has none. */
export function nextAbove(number: number): number {
  return -nextBelow(-number)
}

/** Its bits as a number in the order of floats, as in kernel.wat. */
export function ordinalOf(number: number): bigint {
  float[0] = number
  const own = bits[0]
  return own < 0n ? own ^ 0x7fff_ffff_ffff_ffffn : own
}

/** The float of an ordinal. */
export function floatOf(ordinal: bigint): number {
  bits[0] = ordinal < 0n ? ordinal ^ 0x7fff_ffff_ffff_ffffn : ordinal
  return float[0]
}
