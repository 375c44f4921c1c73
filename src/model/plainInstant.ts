// Date-times and dates in RFC 3339. Patterns use only syntax that JavaScript, Python and RE2 share, because the OpenAPI document
// contains them.

export const anyOf = (...patterns: readonly string[]) => `(?:${patterns.join('|')})`

/** Pattern of the days that every year has, such as `02-28`. */
export const DAY_PATTERN = anyOf(
  '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])',
  '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)',
  '02-(?:0[1-9]|1[0-9]|2[0-8])',
)
export const LEAP_DAY_PATTERN = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29'
const YEAR_PATTERN = anyOf('[1-9][0-9]{3}', '0[1-9][0-9]{2}', '00[1-9][0-9]', '000[1-9]')
/** Pattern of a full-date of RFC 3339 that exists, in the years 1 to 9999. */
export const DATE_PATTERN = anyOf(`${YEAR_PATTERN}-${DAY_PATTERN}`, LEAP_DAY_PATTERN)
/** Pattern of a time, `09:00:00.5`, without leap seconds. */
export const TIME_PATTERN = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?'

const PLAIN = new RegExp(`^${DATE_PATTERN}T${TIME_PATTERN}Z$`)
const PLAIN_LENGTH = '2024-01-31T09:00:00Z'.length

/**
 * Normalizes an existing date-time from year 1 on: `T` and `Z` in upper case, no fraction of a second. Null for any other text.
 */
export function plainInstantOf(text: string): string | null {
  if (!PLAIN.test(text)) return null
  return text.length === PLAIN_LENGTH ? text : `${text.slice(0, PLAIN_LENGTH - 1)}Z`
}

const ALMOST_ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d))?(?:\.\d+)?)? ?(Z|[+-]\d\d:?\d\d)?$/i
/** Maximum length of a text that gets a hint, because the hint repeats the text. */
export const SLIP_LENGTH_MAX = 40
const PLUS_AS_SPACE = /T[\d:.]+ \d\d:\d\d$/i

/** Returns a hint for a text that is almost a date-time, `; for 2024-01-31 write 2024-01-31T00:00:00Z`; '' for any other text. */
export function instantHint(text: string): string {
  if (text.length > SLIP_LENGTH_MAX) return ''
  if (PLUS_AS_SPACE.test(text)) return '; a + in a query string must be written %2B'
  const [, date, minute = '00:00', second = '00', zone = 'Z'] = ALMOST_ISO.exec(text) ?? []
  if (date === undefined || !PLAIN.test(`${date}T${minute}:${second}Z`)) return ''
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase()
  return `; for ${text.trimEnd()} write ${date}T${minute}:${second}${offset}`
}
