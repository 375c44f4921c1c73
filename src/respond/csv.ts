import type { Choice } from '../model/choice.ts'
import type { Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { StreamQuery } from '../model/query.ts'
import { escapeFormulas, spreadsheetInstant } from '../model/spreadsheet.ts'
import type { Row } from '../model/sql.ts'

const BYTE_ORDER_MARK = '\ufeff'
const END = '\r\n'
/** Cells that need quotes, where commas or semicolons separate them. */
const QUOTED = { ',': /[",\r\n]|^[ \t]|[ \t]$/, ';': /[";\r\n]|^[ \t]|[ \t]$/ }

/** How a CSV is written. */
export type CsvStyle = Pick<StreamQuery, 'hasMark' | 'isForExcel' | 'hasDecimalComma'>

const separatorOf = ({ hasDecimalComma }: CsvStyle) => (hasDecimalComma ? ';' : ',')

/** The first line: names as in JSON, parts of objects with a dot. RFC 4180 */
export function csvHeader({ properties }: Choice, style: CsvStyle): string {
  const names = properties.map(({ path }) => path.join('.'))
  return (style.hasMark ? BYTE_ORDER_MARK : '') + names.join(separatorOf(style)) + END
}

/**
 * Writes rows that have these columns as lines. No value is an empty cell, and an empty text one in quotes. For Excel formulas
 * are escaped, and date-times are in UTC and without a zone.
 */
export function csvWriter({ properties }: Choice, columns: readonly Property[], style: CsvStyle): (row: Row) => string {
  const separator = separatorOf(style)
  const cells = properties.map((property) => ({
    index: columns.indexOf(property),
    write: cellWriter(property, style),
  }))
  return (row) => {
    let line = ''
    let isFirst = true
    for (const { index, write } of cells) {
      const text = row[index]
      if (!isFirst) line += separator
      isFirst = false
      if (text !== null && text !== undefined) line += write(text)
    }
    return line + END
  }
}

function cellWriter({ kind }: Property, style: CsvStyle): (text: string) => string {
  const { isForExcel, hasDecimalComma } = style
  const separator = separatorOf(style)
  if (isText(kind.name)) return (text) => quoted(isForExcel ? escapeFormulas(text) : text, separator)
  if (isForExcel && kind.name === 'instant') return spreadsheetInstant
  const { readText } = kind
  if (hasDecimalComma && kind.name === 'decimal') return (text) => text.replace('.', ',')
  return readText === null ? (text) => text : (text) => String(readText(text))
}

function quoted(text: string, separator: keyof typeof QUOTED): string {
  if (text === '') return '""'
  return QUOTED[separator].test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
