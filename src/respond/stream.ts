// Streams of rows as CSV or NDJSON: headers, and writers of lines.
import type { Entity, Property } from '../model/entity.ts'
import { takesGzip } from '../model/preferences.ts'
import type { CsvForm, StreamQuery } from '../model/query.ts'
import { escapeFormulas, spreadsheetInstant } from '../model/spreadsheet.ts'
import type { Row } from '../model/sql.ts'
import { choiceWriter, type PrintableKind } from './json.ts'
import { NDJSON_TYPE, NO_STORE } from './reply.ts'

const TYPES = { csv: 'text/csv; charset=utf-8', ndjson: NDJSON_TYPE } as const
type StreamForm = keyof typeof TYPES

/** Start of a stream, and the writer of its rows. */
export interface StreamWriter {
  /** Text before all rows. */
  readonly begin: string
  readonly write: (row: Row) => string
}

/** Returns the writer of a stream whose rows have these columns. */
export function streamWriter(entity: Entity, query: StreamQuery, columns: readonly Property[], form: StreamForm): StreamWriter {
  const choice = query.choice ?? entity
  if (form === 'ndjson') return linesWriter(choiceWriter(choice, columns))
  const cells = choice.properties.map((property): CsvColumn => {
    const index = columns.indexOf(property)
    return { path: property.path, text: (row) => row[index] ?? null, write: cellWriter(property.kind, query) }
  })
  return csvWriter(cells, query)
}

/** Returns a writer of rows as lines of JSON. */
export function linesWriter(write: (row: Row) => string): StreamWriter {
  return { begin: '', write: (row) => `${write(row)}\n` }
}

/**
 * Returns the headers of a stream. They have neither length nor total, because both are unknown when the headers are sent.
 * `file`: name under which browsers save a CSV, without `.csv`.
 */
export function streamHeaders(file: string, form: StreamForm, request: Headers): Record<string, string> {
  const own = { 'Content-Type': TYPES[form], 'Cache-Control': NO_STORE, Vary: 'Accept, Accept-Encoding' }
  const headers: Record<string, string> = own
  if (form === 'csv') headers['Content-Disposition'] = `attachment; filename="${file}.csv"`
  if (takesGzip(request.get('accept-encoding'))) headers['Content-Encoding'] = 'gzip'
  return headers
}

const BYTE_ORDER_MARK = '\ufeff'
const END = '\r\n'
/** Matches cells that need quotes, by separator: comma or semicolon. */
const QUOTED = { ',': /[",\r\n]|^[ \t]|[ \t]$/, ';': /[";\r\n]|^[ \t]|[ \t]$/ }

const separatorOf = ({ hasDecimalComma }: CsvForm) => (hasDecimalComma ? ';' : ',')

/** A column of a CSV: a function that returns its text for a row, and a function that formats the text. */
interface CsvColumn {
  readonly path: readonly string[]
  readonly text: (row: Row) => string | null
  readonly write: (text: string) => string
}

/** Returns a writer of CSV. The first line has the column names. An empty cell means no value; an empty text is `""`. RFC 4180 */
export function csvWriter(cells: readonly CsvColumn[], form: CsvForm): StreamWriter {
  const separator = separatorOf(form)
  const names = cells.map(({ path }) => path.join('.'))
  const begin = (form.hasMark ? BYTE_ORDER_MARK : '') + names.join(separator) + END
  const cellOf = (text: string | null, write: CsvColumn['write']) => (text === null ? '' : write(text))
  return { begin, write: (row) => cells.map(({ text, write }) => cellOf(text(row), write)).join(separator) + END }
}

/**
 * Returns a function that formats values of a kind. For Excel it escapes formulas, and writes date-times in UTC without a zone.
 */
export function cellWriter(kind: PrintableKind, form: CsvForm): (text: string) => string {
  const { isForExcel, hasDecimalComma } = form
  const separator = separatorOf(form)
  if (kind.isEscaped) return (text) => quoted(isForExcel ? escapeFormulas(text) : text, separator)
  if (isForExcel && kind.temporal === 'instant') return spreadsheetInstant
  const { readText } = kind
  if (readText !== null) return (text) => String(readText(text))
  return hasDecimalComma ? (text) => text.replace('.', ',') : (text) => text
}

function quoted(text: string, separator: keyof typeof QUOTED): string {
  if (text === '') return '""'
  return QUOTED[separator].test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
