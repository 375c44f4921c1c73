import { ApiError } from '../errors.ts'
import { invalidJson } from './bodyBytes.ts'

/** Rows of one body; messages say so, too. */
const ROWS_MAX = 1_000

/** A body of several rows, which is not parsed yet. */
export class RowsText {
  /** `form`: an array of JSON, or JSON in lines. `release`: to be called when it is done with. */
  constructor(
    readonly text: string,
    readonly form: 'array' | 'lines',
    readonly release: () => void = () => undefined,
  ) {}
}

/**
 * Splits a body into 1 to 1,000 rows. It looks only for where rows end, so that a body can be charged by its rows before they
 * are parsed: a row may not be JSON. @throws ApiError InvalidJson, InvalidRows
 */
export function findRows({ text, form }: RowsText): readonly string[] {
  const rows = form === 'lines' ? linesOf(text) : elementsOf(text)
  if (rows.length === 0) throw invalidRows('The body has no rows; it may have 1 to 1,000.')
  return rows
}

/** Lines without the spaces before them; blank lines are left out. */
function linesOf(text: string): string[] {
  const rows: string[] = []
  for (const [line] of text.matchAll(/[^ \t\r\n][^\n]*/g)) add(rows, line)
  return rows
}

function add(rows: string[], row: string) {
  if (rows.length === ROWS_MAX)
    throw invalidRows('The body has more than 1,000 rows; send the others by further requests.')
  rows.push(row)
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The elements of an array. Each character is looked at once, so that no text takes longer than another. */
function elementsOf(text: string): string[] {
  const rows: string[] = []
  let start = text.indexOf('[') + 1
  let depth = 1
  let isString = false
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) isString = !isString
    else if (isString) at += unit === BACKSLASH ? 1 : 0
    else if (unit === ARRAY_BEGIN || unit === OBJECT_BEGIN) depth++
    else if (unit === COMMA && depth === 1) {
      add(rows, text.slice(start, at))
      start = at + 1
    } else if ((unit === ARRAY_END || unit === OBJECT_END) && --depth === 0) {
      if (unit === OBJECT_END || !BLANK.test(text.slice(at + 1))) break
      const last = text.slice(start, at)
      if (rows.length > 0 || !BLANK.test(last)) add(rows, last)
      return rows
    }
  }
  throw invalidJson('The body is not JSON: the array does not end where the body does.')
}

const BLANK = /^[ \t\r\n]*$/

function invalidRows(message: string): ApiError {
  return new ApiError('InvalidRows', message, { target: 'Body' })
}
