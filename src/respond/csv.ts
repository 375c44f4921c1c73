import type { Choice } from '../model/choice.ts'
import type { Property } from '../model/entity.ts'
import { isText, type Kind } from '../model/kinds.ts'
import type { CsvForm } from '../model/query.ts'
import { escapeFormulas, spreadsheetInstant } from '../model/spreadsheet.ts'
import type { Row } from '../model/sql.ts'

const BYTE_ORDER_MARK = '\ufeff'
const END = '\r\n'
/** Cells that need quotes, where commas or semicolons separate them. */
const QUOTED = { ',': /[",\r\n]|^[ \t]|[ \t]$/, ';': /[";\r\n]|^[ \t]|[ \t]$/ }

const separatorOf = ({ hasDecimalComma }: CsvForm) => (hasDecimalComma ? ';' : ',')

/** The first line: names as in JSON, parts of objects with a dot. RFC 4180 */
export function csvHeader(names: readonly string[], form: CsvForm): string {
  return (form.hasMark ? BYTE_ORDER_MARK : '') + names.join(separatorOf(form)) + END
}

/** A cell of a line: the index of its value in the row, and how that is written. */
export interface Cell {
  readonly index: number
  readonly write: (text: string) => string
}

/** Writes the chosen properties of rows that have these columns as lines. */
export function csvWriter({ properties }: Choice, columns: readonly Property[], form: CsvForm): (row: Row) => string {
  return lineWriter(
    properties.map((property) => ({ index: columns.indexOf(property), write: cellWriter(property.kind, form) })),
    form,
  )
}

/** Writes rows as lines of cells. No value is an empty cell, and an empty text one in quotes. */
export function lineWriter(cells: readonly Cell[], form: CsvForm): (row: Row) => string {
  const separator = separatorOf(form)
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

/** Writes a number that PostgreSQL has printed. */
export function numberWriter({ hasDecimalComma }: CsvForm): (text: string) => string {
  return hasDecimalComma ? (text) => text.replace('.', ',') : (text) => text
}

/** Writes values of this kind. For Excel formulas are escaped, and date-times are in UTC and without a zone. */
export function cellWriter(kind: Kind, form: CsvForm): (text: string) => string {
  const { isForExcel } = form
  const separator = separatorOf(form)
  if (isText(kind.name)) return (text) => quoted(isForExcel ? escapeFormulas(text) : text, separator)
  if (isForExcel && kind.name === 'instant') return spreadsheetInstant
  const { readText } = kind
  return readText === null ? numberWriter(form) : (text) => String(readText(text))
}

function quoted(text: string, separator: keyof typeof QUOTED): string {
  if (text === '') return '""'
  return QUOTED[separator].test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
