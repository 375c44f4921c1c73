// Reads days whose month is a name: `1-Sep-2026`, `1. September 2026`, `September 1, 2026`. Runs in browsers, too.

/** Numbers of months, from 1, by their names in small letters without points. The outer key is the language. */
const namesByLanguage = new Map<string, ReadonlyMap<string, number>>()
const MONTHS = Array.from({ length: 12 }, (_, index) => index)
const FORMS = [
  { month: 'long' },
  { month: 'short' },
  { day: 'numeric', month: 'long' },
  { day: 'numeric', month: 'short' },
] as const

/** Returns the names of months in a language and in English, because programs in any country write English names. */
function monthNamesOf(locale: string): ReadonlyMap<string, number> {
  const known = namesByLanguage.get(locale)
  if (known) return known
  const names = new Map<string, number>([['sept', 9]])
  for (const language of ['en', locale])
    for (const form of FORMS) {
      // The Gregorian calendar is asked for, because other calendars have other months.
      const format = new Intl.DateTimeFormat(language, { ...form, calendar: 'gregory', timeZone: 'UTC' })
      for (const index of MONTHS) {
        const name = format.formatToParts(Date.UTC(2026, index, 15)).find(({ type }) => type === 'month')?.value ?? ''
        if (/\p{Letter}/u.test(name)) names.set(plainName(name), index + 1)
      }
    }
  namesByLanguage.set(locale, names)
  return names
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll('.', '')
}

const NAME = "([\\p{Letter}\\p{Mark}'’]+\\.?)"
const SEPARATOR = '(?: ?[-/.,] ?| (?:de |del )?)'
const DAY_FIRST = new RegExp(`^(\\d{1,2})(?:st|nd|rd|th|er|\\.|º)?${SEPARATOR}${NAME}${SEPARATOR}(\\d{4})\\.?$`, 'iu')
const MONTH_FIRST = new RegExp(`^${NAME}[ -](\\d{1,2})(?:st|nd|rd|th)?(?:, ?| |-)(\\d{4})$`, 'iu')

/**
 * Returns year, month and day of a text such as `1. September 2026`, with a month's name of the language or of English; null for
 * any other text.
 */
export function namedDay(text: string, language: string): readonly [year: string, month: string, day: string] | null {
  const [, day, name = '', year] = DAY_FIRST.exec(text) ?? []
  const [, otherName = '', otherDay, otherYear] = MONTH_FIRST.exec(text) ?? []
  const named = plainName(name || otherName)
  const month = named === '' ? undefined : monthNamesOf(language).get(named)
  if (month === undefined) return null
  return [year ?? otherYear ?? '', String(month), day ?? otherDay ?? '']
}
