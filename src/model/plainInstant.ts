/** `2024-01-31T09:00:00` */
const SECONDS_LENGTH = 19
const ZERO = 0x30
/** By month; in a common year. */
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Returns, without a `Date`, whether a text is an existing date-time from year 1 on, written as `YYYY-MM-DDThh:mm:ssZ`. */
export function isPlainInstant(text: string): boolean {
  return text.length === SECONDS_LENGTH + 1 && text[SECONDS_LENGTH] === 'Z' && beginsPlain(text)
}

/** Such a text, which may have a fraction of a second, without that; null: it is another. */
export function plainInstantOf(text: string): string | null {
  if (text.length === SECONDS_LENGTH + 1) return isPlainInstant(text) ? text : null
  const end = text.length - 1
  if (end < SECONDS_LENGTH + 2 || text[SECONDS_LENGTH] !== '.' || text[end] !== 'Z') return null
  for (let at = SECONDS_LENGTH + 1; at < end; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return null
  }
  return beginsPlain(text) ? `${text.slice(0, SECONDS_LENGTH)}Z` : null
}

/** No pattern: that would cost more than all else that is done with a filter. */
function beginsPlain(text: string): boolean {
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return false
  if (!(twoDigits(text, 11) <= 23 && twoDigits(text, 14) <= 59 && twoDigits(text, 17) <= 59)) return false
  const [century, year] = [twoDigits(text, 0), twoDigits(text, 2)]
  return 100 * century + year > 0 && dayExists(century, year, twoDigits(text, 5), twoDigits(text, 8))
}

function dayExists(century: number, year: number, month: number, day: number): boolean {
  if (day === 0) return false
  if (month === 2 && day === 29) return year % 4 === 0 && (year > 0 || century % 4 === 0)
  return day <= (DAYS[month] ?? 0)
}

/** The number that they are; NaN: they are no digits. */
function twoDigits(text: string, at: number): number {
  const [tens, units] = [text.charCodeAt(at) - ZERO, text.charCodeAt(at + 1) - ZERO]
  return tens >= 0 && tens <= 9 && units >= 0 && units <= 9 ? 10 * tens + units : Number.NaN
}

const NEARLY = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d))?(?:\.\d+)?)? ?(Z|[+-]\d\d:?\d\d)?$/i
/** Beyond that length it is no slip, and the message would repeat all of it. */
const LENGTH_MAX = 40
const PLUS_LOST = /T[\d:.]+ \d\d:\d\d$/i

/** Hint such as `; for 2024-01-31 write 2024-01-31T00:00:00Z` for a text that is nearly a date-time; '' for any other. */
export function instantHint(text: string): string {
  if (text.length > LENGTH_MAX) return ''
  if (PLUS_LOST.test(text)) return '; a + in a query string must be written %2B'
  const [, date, minute = '00:00', second = '00', zone = 'Z'] = NEARLY.exec(text) ?? []
  if (date === undefined || !isPlainInstant(`${date}T${minute}:${second}Z`)) return ''
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  return `; for ${text.trimEnd()} write ${date}T${minute}:${second}${offset}`
}
