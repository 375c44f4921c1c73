// Codes of values: integers in the order of the values, which columns have as 32 or 64 bits. Also days of the calendar.
import type { MomentName, PlainName } from '../model/kinds.ts'

/**
 * An integer that stands for a value: a number if it is a safe integer, a bigint if it is not. `Infinity` and `-Infinity`
 * stand for those of PostgreSQL, `Infinity` also for a decimal NaN; NaN is no value. Equal values have one code, others codes
 * in their order; none is -0.
 */
export type Code = number | bigint

/**
 * Returns the code of a value as PostgreSQL prints it; null: it has none. `scale`: digits of a decimal after the point; the code
 * is the number of units of the last digit.
 */
type CodeOf = (text: string, scale: number) => Code | null

/** Functions that code values, by kind. Texts are coded by a dictionary instead. */
export const numbers: Readonly<Record<PlainName, CodeOf>> = {
  boolean: (text) => Number(text === 't'),
  integer: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : null),
  date: momentCode,
  instant: momentCode,
  decimal: decimalCode,
  json: () => 1,
}

/** Maximum units of a decimal: 18 digits, so that the codes next to any code are integers of 64 bits, too. */
const UNITS_MAX = 10n ** 18n - 1n
/** Maximum digits of a decimal that is read as a float: up to these, a float is exact. */
const DIGITS_EXACT = 15
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)
/** The greatest code of a finite value, by kind; the least is its negative. */
const greatestCodes: Readonly<Record<PlainName, bigint>> = {
  boolean: SAFE_MAX,
  integer: SAFE_MAX,
  date: SAFE_MAX,
  instant: SAFE_MAX,
  decimal: UNITS_MAX,
  json: SAFE_MAX,
}

function decimalCode(text: string, scale: number): Code | null {
  if (text === 'NaN') return Number.POSITIVE_INFINITY // above all numbers, and a column with a scale has no infinity
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined || fraction.length > scale) return null
  const digits = whole + fraction.padEnd(scale, '0')
  // Zero has no sign.
  if (digits.length <= DIGITS_EXACT) return sign === '' ? Number(digits) : 0 - Number(digits)
  const units = BigInt(digits)
  if (units > UNITS_MAX) return null
  return codeOf(sign === '' ? units : -units)
}

/** The code that is this integer. */
function codeOf(integer: bigint): Code {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

/** Codes around the operand of a filter. */
export interface Operand {
  /** The operand's own code; null: no row can have its value. */
  readonly equal: Code | null
  /** The greatest code below the operand; `-Infinity`: there is no finite one. */
  readonly below: Code
  /** The least code above the operand; `Infinity`: there is no finite one. */
  readonly above: Code
}

/**
 * Returns the codes around an operand. The operand may have more digits than the codes of its property, or be beyond all of them.
 * It is written as `printFilter` of its kind does. `scale`: as in `numbers`.
 */
export function operandOf(kind: PlainName, scale: number, operand: string): Operand {
  const equal = numbers[kind](operand, scale)
  if (typeof equal === 'number' && Math.abs(equal) < Number.MAX_SAFE_INTEGER) {
    return { equal, below: equal - 1, above: equal + 1 }
  }
  const greatest = greatestCodes[kind]
  if (equal === Number.POSITIVE_INFINITY) return { equal, below: codeOf(greatest), above: equal }
  if (equal === Number.NEGATIVE_INFINITY) return { equal, below: equal, above: codeOf(-greatest) }
  const [floor, isBetween] = floorOf(operand, scale)
  const isCode = !isBetween && floor >= -greatest && floor <= greatest
  return {
    equal: isCode ? codeOf(floor) : null,
    below: belowOf(isBetween ? floor : floor - 1n, greatest),
    above: aboveOf(floor + 1n, greatest),
  }
}

/** Rounds a decimal down to an integer of units, and says whether that was less than the decimal. */
function floorOf(text: string, scale: number): [floor: bigint, isBetween: boolean] {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  const units = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  const isBetween = /[1-9]/.test(fraction.slice(scale))
  if (sign === '') return [units, isBetween]
  return [isBetween ? -units - 1n : -units, isBetween]
}

/** Returns the greatest code that is at most an integer; `-Infinity`: no code is. Codes are from `-greatest` to `greatest`. */
function belowOf(integer: bigint, greatest: bigint): Code {
  return integer < -greatest ? Number.NEGATIVE_INFINITY : codeOf(integer > greatest ? greatest : integer)
}

/** Returns the least code that is at least an integer; `Infinity`: no code is. */
function aboveOf(integer: bigint, greatest: bigint): Code {
  return integer > greatest ? Number.POSITIVE_INFINITY : codeOf(integer < -greatest ? -greatest : integer)
}

/** Compares codes. NaN, which is no value, is greater than any other, even Infinity. */
export function compareCodes(one: Code, other: Code): number {
  if (one < other) return -1
  if (one > other) return 1
  return one === other ? 0 : Number(Number.isNaN(one)) - Number(Number.isNaN(other))
}

/** Stands for no value in a column of 32 bits: the least integer. */
export const NO_CODE = -(2 ** 31)

// Codes that are no integers, as the upper and the lower half of 64 bits. No value is the least integer; it is greater than any
// code all the same.
export const HIGH_NONE = -(2 ** 31)
export const LOW_NONE = 0
const HIGH_GREATEST = 2 ** 31 - 1
const LOW_GREATEST = -1
const HIGH_LEAST = -(2 ** 31)
const LOW_LEAST = 1

const INT32_MAX = 2 ** 31 - 1
/** Number of values of 32 bits, and half of it. */
const WORD = 2 ** 32
const HALF_WORD = 2 ** 31
/** Bound of the upper halves of safe integers: they are from `-HIGH_SAFE` up to, not including, `HIGH_SAFE`. */
const HIGH_SAFE = 2 ** 21

/** Writes a code at an index, as the two halves of an integer of 64 bits. */
export function halvesTo(lows: Int32Array, highs: Int32Array, at: number, code: Code): void {
  if (typeof code === 'bigint') {
    lows[at] = Number(BigInt.asIntN(32, code))
    highs[at] = Number(code >> 32n)
  } else {
    halvesOfNumber(lows, highs, at, code)
  }
}

/** As `halvesTo`, for a code that is a number. It is small, so that the compiler inlines it. */
export function halvesOfNumber(lows: Int32Array, highs: Int32Array, at: number, code: number): void {
  if (code >= NO_CODE && code <= INT32_MAX) {
    lows[at] = code
    highs[at] = code >> 31
  } else {
    largeHalves(lows, highs, at, code)
  }
}

/** As `halvesTo`, for a number that is no integer of 32 bits. */
function largeHalves(lows: Int32Array, highs: Int32Array, at: number, code: number): void {
  if (Number.isFinite(code)) {
    // Exact, since the quotient by a power of two is.
    const high = Math.floor(code / WORD)
    highs[at] = high
    // What remains has 32 bits without a sign; the conversion of a float to one with a sign is much quicker.
    lows[at] = (code - high * WORD - HALF_WORD) ^ NO_CODE
  } else {
    lows[at] = Number.isNaN(code) ? LOW_NONE : code > 0 ? LOW_GREATEST : LOW_LEAST
    highs[at] = Number.isNaN(code) ? HIGH_NONE : code > 0 ? HIGH_GREATEST : HIGH_LEAST
  }
}

/** The code that has these halves. */
export function codeOfHalves(high: number, low: number): Code {
  if (high === low >> 31) return low
  // The least of these is no safe integer.
  if (high < HIGH_SAFE && high >= -HIGH_SAFE && (high > -HIGH_SAFE || low !== 0)) return high * WORD + (low >>> 0)
  if (high === HIGH_NONE && low === LOW_NONE) return Number.NaN
  if (high === HIGH_LEAST && low === LOW_LEAST) return Number.NEGATIVE_INFINITY
  if (high === HIGH_GREATEST && low === LOW_GREATEST) return Number.POSITIVE_INFINITY
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

/** In seconds. */
export const MINUTE = 60
export const HOUR = 3_600
export const DAY = 86_400
/** Difference of the codes of a moment and of the same moment of the next day, by kind. */
export const dayCodes: Readonly<Record<MomentName, number>> = { date: 1, instant: DAY }
const MOMENT = /^(\d{4,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)\+00)?( BC)?$/

/** Returns the seconds from 2000 to an instant, or the days to a date. */
function momentCode(text: string): Code | null {
  if (text === 'infinity') return Number.POSITIVE_INFINITY
  if (text === '-infinity') return Number.NEGATIVE_INFINITY
  const [, year, month, day, hour, minute, second, era] = MOMENT.exec(text) ?? []
  if (year === undefined) return null
  const days = daysOf(era ? 1 - Number(year) : Number(year), Number(month), Number(day))
  return hour === undefined ? days : days * DAY + Number(hour) * HOUR + Number(minute) * MINUTE + Number(second)
}

/** Returns the date that is `days` days after 2000-01-01: the inverse of `daysOf`. */
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
