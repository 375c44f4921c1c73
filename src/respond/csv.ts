import type { Choice } from '../model/choice.ts'
import type { Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { Row } from '../model/sql.ts'

const BYTE_ORDER_MARK = '\ufeff'
const END = '\r\n'
/** What a cell needs quotes for. */
const QUOTED = /[",\r\n]|^[ \t]|[ \t]$/
/** What spreadsheets take for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** The first line: names as in JSON, parts of objects with a dot. RFC 4180 */
export function csvHeader({ properties }: Choice, hasMark: boolean): string {
  const names = properties.map(({ path }) => path.join('.'))
  return (hasMark ? BYTE_ORDER_MARK : '') + names.join() + END
}

/**
 * Writes rows that have these columns as lines. No value is an empty cell, and an empty text one in quotes. `isForExcel`: a text
 * that a spreadsheet would run as a formula has an apostrophe in front, and date-times are in UTC as spreadsheets read them.
 */
export function csvWriter(
  { properties }: Choice,
  columns: readonly Property[],
  isForExcel: boolean,
): (row: Row) => string {
  const cells = properties.map((property) => ({
    index: columns.indexOf(property),
    write: cellWriter(property, isForExcel),
  }))
  return (row) => {
    let line = ''
    let isFirst = true
    for (const { index, write } of cells) {
      const text = row[index]
      if (!isFirst) line += ','
      isFirst = false
      if (text !== null && text !== undefined) line += write(text)
    }
    return line + END
  }
}

function cellWriter({ kind }: Property, isForExcel: boolean): (text: string) => string {
  if (isText(kind.name)) return isForExcel ? (text) => quoted(FORMULA.test(text) ? `'${text}` : text) : quoted
  if (isForExcel && kind.name === 'instant') return dateAndTime
  const { readText } = kind
  return readText === null ? (text) => text : (text) => String(readText(text))
}

/** `2024-01-31 09:00:00+00`, as PostgreSQL has it, without the zone: of a date-time with one, spreadsheets make a text. */
function dateAndTime(text: string): string {
  return text.slice(0, 19)
}

function quoted(text: string): string {
  if (text === '') return '""'
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
