// Texts of a CSV that a spreadsheet would run as formulas, and back.

/** What stands before a formula within a cell and is left out, and what it begins with, also in the wide letters of Japanese and Chinese. */
const FORMULA = '[ "\']*[=+\\-@＝＋－＠]'
/** A tab or return at a text's beginning is left out as well. */
const FIRST = '[ "\']*[=+\\-@＝＋－＠\\t\\r]'
/** Behind these a cell may begin, where another separator than the comma is taken, or a quote within a line is no quote. */
const BEHIND = '(?<=[;|\\t\\r\\n\\v\\f\\u0085\\u2028\\u2029])'
const UNGUARDED = new RegExp(`^(?=${FIRST})|${BEHIND}(?=${FORMULA})`, 'g')
const GUARDED = new RegExp(`^'(?=${FIRST})|${BEHIND}'(?=${FORMULA})`, 'g')

/** Puts an apostrophe wherever a spreadsheet might begin a formula. Every text has one of its own, which `unguardFormulas` takes back. */
export function guardFormulas(text: string): string {
  return text.replace(UNGUARDED, "'")
}

/** Takes the apostrophes of `guardFormulas` away; of another text, those in the same places. */
export function unguardFormulas(text: string): string {
  return text.replace(GUARDED, '')
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/

/** `2024-01-31 09:00:00`, in UTC, for `2024-01-31 09:00:00+00` as PostgreSQL prints it: of one with a zone spreadsheets make a text. */
export function spreadsheetInstant(text: string): string {
  return text.slice(0, 19)
}

/** `2024-01-31T09:00:00Z` for a date-time that was written so; null: it was not. */
export function instantOfSpreadsheet(text: string): string | null {
  const [, date, time] = DATE_TIME.exec(text) ?? []
  return date === undefined ? null : `${date}T${time}Z`
}
