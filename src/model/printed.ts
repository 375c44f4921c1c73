// Values as PostgreSQL prints them, with time zone UTC and date style ISO. Every value has one spelling.

/** The order of two printed values: below 0, 0, above 0. */
export type Compare = (one: string, other: string) => number

/** By code units: the order of texts in no collation, but of printed values that differ in digits only. */
export function compareCodes(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** A number of up to so many characters, with its sign, is exact as a float. */
const EXACT_LENGTH_MAX = 15

/** Integers of any size. */
export function compareIntegers(one: string, other: string): number {
  if (one.length <= EXACT_LENGTH_MAX && other.length <= EXACT_LENGTH_MAX) return Number(one) - Number(other)
  const [first, second] = [BigInt(one), BigInt(other)]
  return first < second ? -1 : Number(first > second)
}

const FOUR_DIGIT_YEAR_LENGTH = '2024-01-31 09:00:00+00'.length

/** Timestamps without a fraction. Also what only SQL can write: years before 1 and after 9999, infinities. */
export function compareInstants(one: string, other: string): number {
  if (one.length !== FOUR_DIGIT_YEAR_LENGTH || other.length !== FOUR_DIGIT_YEAR_LENGTH) {
    const [first, second] = [yearOf(one), yearOf(other)]
    if (first !== second) return first - second
  }
  return compareCodes(one, other)
}

const DATE_LENGTH = '2024-01-31'.length

/** Dates; also what only SQL can write: years before 1 and after 9999, infinities. */
export function compareDates(one: string, other: string): number {
  if (one.length !== DATE_LENGTH || other.length !== DATE_LENGTH) {
    const [first, second] = [yearOf(one), yearOf(other)]
    if (first !== second) return first - second
  }
  return compareCodes(one, other)
}

function yearOf(text: string): number {
  if (text.endsWith('infinity')) return text.startsWith('-') ? -Infinity : Infinity
  const year = Number.parseInt(text, 10)
  return text.endsWith('BC') ? -year : year
}
