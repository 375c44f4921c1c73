// CSV injection: texts that a spreadsheet would run as formulas are escaped by an apostrophe, and unescaped.

/** The start of a formula, also in full-width characters; spreadsheets skip the spaces and quotes before it. */
const FORMULA = '[ "\']*[=+\\-@＝＋－＠]'
/** Begin of a formula at the begin of a text, where a tab or a carriage return is skipped, too. */
const FIRST = '[ "\']*[=+\\-@＝＋－＠\\t\\r]'
/** Characters that start a new cell or row when a spreadsheet splits the file by another separator than the comma. */
const BEHIND = '(?<=[;|\\t\\r\\n\\v\\f\\u0085\\u2028\\u2029])'
const UNESCAPED = new RegExp(`^(?=${FIRST})|${BEHIND}(?=${FORMULA})`, 'g')
const ESCAPED = new RegExp(`^'(?=${FIRST})|${BEHIND}'(?=${FORMULA})`, 'g')

/** Puts an apostrophe in front of whatever a spreadsheet could run as a formula. `unescapeFormulas` restores any text. */
export function escapeFormulas(text: string): string {
  return text.replace(UNESCAPED, "'")
}

/** Removes the apostrophes that `escapeFormulas` puts in. */
export function unescapeFormulas(text: string): string {
  return text.replace(ESCAPED, '')
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/

/** PostgreSQL's `2024-01-31 09:00:00+00` without the zone, with which spreadsheets read it as text. */
export function spreadsheetInstant(text: string): string {
  return text.replace('+00', '')
}

/** `2024-01-31T09:00:00Z` for `2024-01-31 09:00:00`; null for any other text. */
export function instantOfSpreadsheet(text: string): string | null {
  const [, date, time] = DATE_TIME.exec(text) ?? []
  return date === undefined ? null : `${date}T${time}Z`
}
