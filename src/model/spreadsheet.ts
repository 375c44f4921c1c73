// CSV injection: an apostrophe escapes texts that a spreadsheet would run as formulas.

/** Pattern of the start of a formula, also in full-width characters; spreadsheets skip spaces and quotes before it. */
const FORMULA = '[ "\']*[=+\\-@＝＋－＠]'
/** Pattern of a formula at the start of a text, where a tab or a carriage return is skipped, too. */
const TEXT_START = '[ "\']*[=+\\-@＝＋－＠\\t\\r]'
/**
 * Pattern of the characters after which a spreadsheet can start a new cell or row, even if commas separate the cells of the file.
 */
const AFTER_SEPARATOR = '(?<=[;|\\t\\r\\n\\v\\f\\u0085\\u2028\\u2029])'
const UNESCAPED = new RegExp(`^(?=${TEXT_START})|${AFTER_SEPARATOR}(?=${FORMULA})`, 'g')
const ESCAPED = new RegExp(`^'(?=${TEXT_START})|${AFTER_SEPARATOR}'(?=${FORMULA})`, 'g')

/** Puts an apostrophe before everything that a spreadsheet could run as a formula. `unescapeFormulas` restores the text. */
export function escapeFormulas(text: string): string {
  return text.replace(UNESCAPED, "'")
}

/** Removes the apostrophes that `escapeFormulas` has added. */
export function unescapeFormulas(text: string): string {
  return text.replace(ESCAPED, '')
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/

/** Removes the zone from PostgreSQL's `2024-01-31 09:00:00+00`: spreadsheets read a date-time with a zone as text. */
export function spreadsheetInstant(text: string): string {
  return text.replace('+00', '')
}

/** Converts `2024-01-31 09:00:00` to `2024-01-31T09:00:00Z`; null for any other text. */
export function instantOfSpreadsheet(text: string): string | null {
  const [, date, time] = DATE_TIME.exec(text) ?? []
  return date === undefined ? null : `${date}T${time}Z`
}
