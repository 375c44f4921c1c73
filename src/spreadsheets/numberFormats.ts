// Converts numbers of a spreadsheet to text. The format of its cell says whether a number is a day, a time or a plain number.
// Runs in browsers, too.

/**
 * Use of a format: its numbers are days, days with a time, times, or plain numbers. `digits`: minimum number of digits, such as 5
 * for `00000`; shorter numbers get leading zeros.
 */
export type NumberFormat = TimeFormat | { readonly digits: number }
type TimeFormat = 'day' | 'dayAndTime' | 'time'

export const PLAIN_NUMBER: NumberFormat = { digits: 1 }

/**
 * Number of the built-in format for days with times. Built-in formats have a number instead of a text; the formats from 27 on are
 * of East Asian languages. ECMA-376, 18.8.30
 */
const BUILT_IN_DAY_AND_TIME = 22
const isBuiltInDay = (id: number) => (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58)
const isBuiltInTime = (id: number) => (id >= 18 && id <= 21) || (id >= 45 && id <= 47)

/**
 * Matches parts of a format that do not tell its use: texts, escaped characters, and brackets with colors, languages or
 * conditions. `[h]`, which counts hours, is no match.
 */
const LITERALS = /"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi

/** Returns the use of a format. `code`: text of a format that the file defines; undefined for a built-in format. */
export function numberFormatOf(id: number, code: string | undefined): NumberFormat {
  if (code === undefined) {
    if (id === BUILT_IN_DAY_AND_TIME) return 'dayAndTime'
    if (isBuiltInDay(id)) return 'day'
    return isBuiltInTime(id) ? 'time' : PLAIN_NUMBER
  }
  // A format has sections for positive numbers, negative numbers, zero and texts; the first one decides.
  const [section = ''] = code.replace(LITERALS, '').toLowerCase().split(';')
  if (section.includes('general') || section.includes('standard')) return PLAIN_NUMBER
  if (/[dy年日]/.test(section)) return section.includes('h') ? 'dayAndTime' : 'day'
  // In a format without hours or seconds, m stands for months.
  if (/[hs]/.test(section)) return 'time'
  if (section.includes('m')) return 'day'
  const [zeros = ''] = /^0{2,}$/.exec(section.trim()) ?? []
  return zeros === '' ? PLAIN_NUMBER : { digits: zeros.length }
}

/** Number of digits to which a spreadsheet rounds. A number in its file can have 17 digits, as in 0.30000000000000004. */
const DIGITS = 15

/** Returns a number of a file as the spreadsheet shows it, without an exponent. Returns null if the text is not a number. */
export function numberText(text: string, format: NumberFormat = PLAIN_NUMBER): string | null {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) return null
  const rounded = plainText(Number(number.toPrecision(DIGITS)))
  const digits = typeof format === 'object' ? format.digits : 1
  return /^\d+$/.test(rounded) ? rounded.padStart(digits, '0') : rounded
}

/** Returns a number as text without an exponent. */
function plainText(number: number): string {
  const text = String(number)
  const [, sign = '', whole = '', decimals = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? []
  if (exponent === undefined) return text
  const digits = whole + decimals
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return sign + digits.padEnd(point, '0')
}

const DAY_MS = 86_400_000
/** Day 0 of the calendar of 1900, in ms since 1970. */
const EPOCH_MS = Date.UTC(1899, 11, 30)
/** Day 0 of the calendar of 1904, in ms since 1970. */
const EPOCH_1904_MS = Date.UTC(1904, 0, 1)
/**
 * Number of February 29, 1900, in the calendar of 1900. The day never existed, so the numbers of the days before it are one too
 * low.
 */
const FALSE_LEAP_DAY = 60
/** Number of the last day that spreadsheets know: December 31, 9999. */
const SERIAL_MAX = 2_958_465

/**
 * Returns a number of days as `2026-09-01`, `2026-09-01T09:00:00Z` or `09:00:00`. After a day, the time of midnight is written
 * only for the format `dayAndTime`. Returns null if the spreadsheet has no such day.
 */
export function serialText(serial: number, format: TimeFormat, is1904: boolean): string | null {
  if (!(serial >= 0 && serial < SERIAL_MAX + 1)) return null
  const isBeforeLeapDay = !is1904 && serial < FALSE_LEAP_DAY
  if (!is1904 && Math.floor(serial) === FALSE_LEAP_DAY) return null
  // Rounds to seconds, because fractions of a day in a file are not exact.
  const ms = Math.round((serial * DAY_MS) / 1_000) * 1_000
  if (format === 'time' && serial < 1) return new Date(ms).toISOString().slice(11, 19)
  const iso = new Date((is1904 ? EPOCH_1904_MS : EPOCH_MS) + ms + (isBeforeLeapDay ? DAY_MS : 0)).toISOString()
  const isDay = format !== 'dayAndTime' && iso.slice(11, 19) === '00:00:00'
  return isDay ? iso.slice(0, 10) : `${iso.slice(0, 19)}Z`
}
