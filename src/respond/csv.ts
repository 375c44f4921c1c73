import type { Choice } from '../model/choice.ts'
import type { Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { escapeFormulas, spreadsheetInstant } from '../model/spreadsheet.ts'
import type { Row } from '../model/sql.ts'

const BYTE_ORDER_MARK = '\ufeff'
const END = '\r\n'
/** Cells that need quotes. */
const QUOTED = /[",\r\n]|^[ \t]|[ \t]$/

/** The first line: names as in JSON, parts of objects with a dot. RFC 4180 */
export function csvHeader({ properties }: Choice, hasMark: boolean): string {
  const names = properties.map(({ path }) => path.join('.'))
  return (hasMark ? BYTE_ORDER_MARK : '') + names.join() + END
}

/**
 * Writes rows that have these columns as lines. No value is an empty cell, and an empty text one in quotes. `isForExcel`:
 * formulas are escaped, and date-times are in UTC and without a zone.
 */
export function csvWriter({ properties }: Choice, columns: readonly Property[], isForExcel: boolean): (row: Row) => string {
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
  if (isText(kind.name)) return isForExcel ? (text) => quoted(escapeFormulas(text)) : quoted
  if (isForExcel && kind.name === 'instant') return spreadsheetInstant
  const { readText } = kind
  return readText === null ? (text) => text : (text) => String(readText(text))
}

function quoted(text: string): string {
  if (text === '') return '""'
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
