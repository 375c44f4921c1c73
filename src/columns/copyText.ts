// Rows as PostgreSQL's COPY prints them: fields between tabs, `\N` for null. See PostgreSQL documentation, COPY, Text Format.
import { DAY, daysOf, HOUR, MINUTE } from './codes.ts'

export const TAB = 9
export const BACKSLASH = 92
const CAPITAL_N = 78
const POINT = 46
const ZERO = 48

/** Meaning of each character after a backslash. Most characters mean themselves. */
const escapes = new Uint8Array(256).map((_, code) => code)
for (const pair of ['b\b', 'f\f', 'n\n', 'r\r', 't\t', 'v\v']) escapes[pair.charCodeAt(0)] = pair.charCodeAt(1)

// A text may begin with a byte order mark, which belongs to the text.
export const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export function isNull(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from === 2 && bytes[from] === BACKSLASH && bytes[from + 1] === CAPITAL_N
}

/** Writes a field without its escapes into `into`, which must be long enough. Returns the number of bytes written. */
export function writeUnescaped(bytes: Uint8Array, from: number, to: number, into: Uint8Array): number {
  let length = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    into[length++] = byte === BACKSLASH ? escapes[bytes[++at]] : byte
  }
  return length
}

// The functions below parse the most frequent forms of a field. For each other form they return NaN, and codes.ts parses the
// field.

/**
 * Maximum number of digits of a number that is read as a float. With 16 digits, each safe integer is read exactly, and no greater
 * number is mistaken for a safe integer.
 */
const DIGITS_MAX = 16

export function integerAt(bytes: Uint8Array, from: number, to: number): number {
  if (to - from > DIGITS_MAX) return Number.NaN
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = bytes[at] - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number <= Number.MAX_SAFE_INTEGER ? number : Number.NaN
}

/** Returns a decimal with `scale` digits after its point as an integer: the decimal times 10^scale. */
export function decimalAt(bytes: Uint8Array, from: number, to: number, scale: number): number {
  if (scale === 0) return integerAt(bytes, from, to)
  const point = to - scale - 1
  if (point <= from || to - from > DIGITS_MAX + 1 || bytes[point] !== POINT) return Number.NaN
  let number = 0
  for (let at = from; at < to; at++) {
    if (at === point) at++
    const digit = bytes[at] - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number <= Number.MAX_SAFE_INTEGER ? number : Number.NaN
}

const INSTANT = '2024-01-31 09:00:00+00'

export function instantAt(bytes: Uint8Array, from: number, to: number): number {
  if (to - from !== INSTANT.length || bytes[from + 20] !== ZERO || bytes[from + 21] !== ZERO) return Number.NaN
  const seconds = pairAt(bytes, from + 11) * HOUR + pairAt(bytes, from + 14) * MINUTE + pairAt(bytes, from + 17)
  return dayAt(bytes, from) * DAY + seconds
}

/** Returns the days from 2000-01-01 to the date in the text. */
function dayAt(bytes: Uint8Array, from: number): number {
  const year = 100 * pairAt(bytes, from) + pairAt(bytes, from + 2)
  const month = pairAt(bytes, from + 5)
  return month >= 1 && month <= 12 ? daysOf(year, month, pairAt(bytes, from + 8)) : Number.NaN
}

const DATE_LENGTH = '2024-01-31'.length

export function dateAt(bytes: Uint8Array, from: number, to: number): number {
  return to - from === DATE_LENGTH ? dayAt(bytes, from) : Number.NaN
}

/** Reads a number of two digits; NaN if one of them is no digit. */
function pairAt(bytes: Uint8Array, at: number): number {
  const tens = bytes[at] - ZERO
  const ones = bytes[at + 1] - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}
