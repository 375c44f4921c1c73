// Codes of values: integers that are ordered as their values are. Columns store them in 32 or 64 bits. Also converts between
// dates and numbers of days.
import type { PlainName, TemporalName } from '../model/kinds.ts'

/**
 * The integer that represents a value in a column: a number if it is a safe integer, else a bigint. `Infinity` and `-Infinity`
 * represent PostgreSQL's infinities. `Infinity` also represents the decimal NaN. The code NaN means that a row has no value.
 * Equal values have the same code, and different values have codes in the order of the values. No code is -0.
 */
export type Code = number | bigint

/**
 * Returns the code of a value that PostgreSQL has printed; null if the value has no code. `scale`: digits of a decimal after its
 * point. The code of a decimal is the decimal times 10^scale.
 */
type CodeOf = (text: string, scale: number) => Code | null

/** Functions that return the code of a value, by kind. The codes of texts come from a dictionary instead. */
export const codeParsers: Readonly<Record<PlainName, CodeOf>> = {
  boolean: (text) => Number(text === 't'),
  integer: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : null),
  date: temporalCode,
  instant: temporalCode,
  decimal: decimalCode,
  json: () => 1,
}

/**
 * Greatest code of a decimal. It has 18 digits, so that `UNITS_MAX + 1` and `-UNITS_MAX - 1`, the next codes outside of the
 * range, also fit into 64 bits.
 */
const UNITS_MAX = 10n ** 18n - 1n
/** Maximum number of digits of a decimal that is read as a float. A float holds up to 15 digits exactly. */
const DIGITS_EXACT = 15
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)
/** Greatest code of a finite value, by kind. The least code is its negative. */
const greatestCodes: Readonly<Record<PlainName, bigint>> = {
  boolean: SAFE_MAX,
  integer: SAFE_MAX,
  date: SAFE_MAX,
  instant: SAFE_MAX,
  decimal: UNITS_MAX,
  json: SAFE_MAX,
}

function decimalCode(text: string, scale: number): Code | null {
  if (text === 'NaN') return Number.POSITIVE_INFINITY // NaN is the greatest decimal. A column with a scale has no infinity.
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined || fraction.length > scale) return null
  const digits = whole + fraction.padEnd(scale, '0')
  // The number is subtracted from 0, because `-Number(digits)` would be -0 for zero.
  if (digits.length <= DIGITS_EXACT) return sign === '' ? Number(digits) : 0 - Number(digits)
  const units = BigInt(digits)
  if (units > UNITS_MAX) return null
  return codeOf(sign === '' ? units : -units)
}

/** Returns the integer as a number if a number holds it exactly, else as a bigint. */
function codeOf(integer: bigint): Code {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

/** A filter's operand as codes. */
export interface Operand {
  /** Code of the operand itself; null if no row can have this value. */
  readonly equal: Code | null
  /** Greatest code below the operand; `-Infinity` if no finite code is below. */
  readonly below: Code
  /** Least code above the operand; `Infinity` if no finite code is above. */
  readonly above: Code
}

/**
 * Returns the codes of an operand, and of its neighbors. The operand may have more digits than the codes of its property, and may
 * be beyond all codes. `operand`: as `printFilter` of the kind writes it. `scale`: as in `codeParsers`.
 */
export function operandOf(kind: PlainName, scale: number, operand: string): Operand {
  const equal = codeParsers[kind](operand, scale)
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

/** Returns a decimal times 10^scale, rounded down. `isBetween`: true if the exact product is not an integer. */
function floorOf(text: string, scale: number): [floor: bigint, isBetween: boolean] {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  const units = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  const isBetween = /[1-9]/.test(fraction.slice(scale))
  if (sign === '') return [units, isBetween]
  return [isBetween ? -units - 1n : -units, isBetween]
}

/**
 * Returns the greatest code that is at most `integer`, `-Infinity` if there is none. Codes are from `-greatest` to `greatest`.
 */
function belowOf(integer: bigint, greatest: bigint): Code {
  return integer < -greatest ? Number.NEGATIVE_INFINITY : codeOf(integer > greatest ? greatest : integer)
}

/** Returns the least code that is at least `integer`, `Infinity` if there is none. */
function aboveOf(integer: bigint, greatest: bigint): Code {
  return integer > greatest ? Number.POSITIVE_INFINITY : codeOf(integer < -greatest ? -greatest : integer)
}

/** Compares two codes. NaN, which means no value, is greater than all other codes, even Infinity. */
export function compareCodes(one: Code, other: Code): number {
  if (one < other) return -1
  if (one > other) return 1
  return one === other ? 0 : Number(Number.isNaN(one)) - Number(Number.isNaN(other))
}

/** Code of rows without a value in a column of 32 bits: the least integer. */
export const NO_CODE = -(2 ** 31)

// Upper and lower halves of the 64-bit codes of no value, Infinity and -Infinity. The code of no value is the least integer,
// although rows without a value are sorted after all others.
export const HIGH_NONE = -(2 ** 31)
export const LOW_NONE = 0
const HIGH_GREATEST = 2 ** 31 - 1
const LOW_GREATEST = -1
const HIGH_LEAST = -(2 ** 31)
const LOW_LEAST = 1

const INT32_MAX = 2 ** 31 - 1
/** Number of different integers of 32 bits. */
const WORD = 2 ** 32
/** Half of `WORD`. */
const HALF_WORD = 2 ** 31
/** Bound of the upper halves of safe integers: these are at least `-HIGH_SAFE` and less than `HIGH_SAFE`. */
const HIGH_SAFE = 2 ** 21

/** Writes a code as the two halves of a 64-bit integer, at an index of two arrays. */
export function halvesTo(lows: Int32Array, highs: Int32Array, at: number, code: Code): void {
  if (typeof code === 'bigint') {
    lows[at] = Number(BigInt.asIntN(32, code))
    highs[at] = Number(code >> 32n)
  } else {
    halvesOfNumber(lows, highs, at, code)
  }
}

/**
 * Writes the halves of a code, as `halvesTo` does, for a code that is a number. The function is short, so that the compiler
 * inlines it.
 */
export function halvesOfNumber(lows: Int32Array, highs: Int32Array, at: number, code: number): void {
  if (code >= NO_CODE && code <= INT32_MAX) {
    lows[at] = code
    highs[at] = code >> 31
  } else {
    largeHalves(lows, highs, at, code)
  }
}

/** Writes the halves of a code, as `halvesTo` does, for a number that is not an integer of 32 bits. */
function largeHalves(lows: Int32Array, highs: Int32Array, at: number, code: number): void {
  if (Number.isFinite(code)) {
    // The result is exact, because a division by a power of two is exact.
    const high = Math.floor(code / WORD)
    highs[at] = high
    // The remainder is an unsigned integer of 32 bits. A float is converted to a signed integer much faster than to an unsigned
    // one, so half of the range is subtracted. Then `^ NO_CODE` adds this half again.
    lows[at] = (code - high * WORD - HALF_WORD) ^ NO_CODE
  } else {
    lows[at] = Number.isNaN(code) ? LOW_NONE : code > 0 ? LOW_GREATEST : LOW_LEAST
    highs[at] = Number.isNaN(code) ? HIGH_NONE : code > 0 ? HIGH_GREATEST : HIGH_LEAST
  }
}

/** Returns the code that has these halves. */
export function codeOfHalves(high: number, low: number): Code {
  if (high === low >> 31) return low
  // `-HIGH_SAFE` and 0 are the halves of -2^53, which is not a safe integer.
  if (high < HIGH_SAFE && high >= -HIGH_SAFE && (high > -HIGH_SAFE || low !== 0)) return high * WORD + (low >>> 0)
  if (high === HIGH_NONE && low === LOW_NONE) return Number.NaN
  if (high === HIGH_LEAST && low === LOW_LEAST) return Number.NEGATIVE_INFINITY
  if (high === HIGH_GREATEST && low === LOW_GREATEST) return Number.POSITIVE_INFINITY
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

/** Durations in seconds. */
export const MINUTE = 60
export const HOUR = 3_600
export const DAY = 86_400
/** Number of codes in one day, by kind. */
export const dayCodes: Readonly<Record<TemporalName, number>> = { date: 1, instant: DAY }
const MOMENT = /^(\d{4,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)\+00)?( BC)?$/

/**
 * Returns the seconds from the start of 2000 to an instant, or the days from 2000-01-01 to a date. Returns null if the text is
 * neither.
 */
function temporalCode(text: string): Code | null {
  if (text === 'infinity') return Number.POSITIVE_INFINITY
  if (text === '-infinity') return Number.NEGATIVE_INFINITY
  const [, year, month, day, hour, minute, second, era] = MOMENT.exec(text) ?? []
  if (year === undefined) return null
  const days = daysOf(era ? 1 - Number(year) : Number(year), Number(month), Number(day))
  return hour === undefined ? days : days * DAY + Number(hour) * HOUR + Number(minute) * MINUTE + Number(second)
}

/** Returns the date that is `days` days after 2000-01-01: the inverse of `daysOf`. */
export function dateOf(days: number): { year: number; month: number; day: number } {
  // Each era has 400 years that begin in March, and so the same number of days. See Howard Hinnant, chrono-Compatible Low-Level
  // Date Algorithms.
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

/**
 * Returns the days from 2000-01-01 to a date of the Gregorian calendar. The year before year 1 is year 0, the year before that is
 * year -1, and so on.
 */
export function daysOf(year: number, month: number, day: number): number {
  // Years are counted from March, so that the leap day is their last day.
  const from = month > 2 ? year : year - 1
  const inYear = ((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0
  return 365 * from + Math.floor(from / 4) - Math.floor(from / 100) + Math.floor(from / 400) + inYear + day - 730_426
}
