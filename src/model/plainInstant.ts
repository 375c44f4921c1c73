const PLAIN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
/** By month; in a common year. */
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * Whether a text is a date-time that exists, from year 1, already written as `YYYY-MM-DDThh:mm:ssZ`: most are, and
 * to know it needs no `Date`.
 */
export function isPlainInstant(text: string): boolean {
  if (!PLAIN.test(text)) return false
  if (twoDigits(text, 11) > 23 || twoDigits(text, 14) > 59 || twoDigits(text, 17) > 59) return false
  const [century, year] = [twoDigits(text, 0), twoDigits(text, 2)]
  return (century > 0 || year > 0) && dayExists(century, year, twoDigits(text, 5), twoDigits(text, 8))
}

function dayExists(century: number, year: number, month: number, day: number): boolean {
  if (day === 0) return false
  if (month === 2 && day === 29) return year % 4 === 0 && (year > 0 || century % 4 === 0)
  return day <= (DAYS[month] ?? 0)
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30
}
