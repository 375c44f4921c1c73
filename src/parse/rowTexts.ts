import { ApiError } from '../errors.ts'
import { takeTurns } from '../os/time.ts'
import { BODY_BYTES_MAX, invalidJson } from './bodyBytes.ts'
import { EXCESSIVE, elementEnd, isExcessive, NO_END } from './json.ts'

/** Rows of one body; messages say so, too. */
const ROWS_MAX = 1_000

/** A body of several rows, which is not parsed yet: an array of JSON, or JSON in lines. */
export class RowsText {
  constructor(
    readonly text: string,
    readonly form: 'array' | 'lines',
  ) {}
}

/**
 * Splits a body into 1 to 1,000 rows. It looks only for where rows end, so that a body can be charged by its rows before they
 * are parsed: a row may not be JSON. Other requests have turns between two rows. @throws ApiError InvalidJson, InvalidRows,
 * PayloadTooLarge
 */
export async function findRows({ text, form }: RowsText): Promise<readonly string[]> {
  const turn = takeTurns()
  const rows: string[] = []
  for (const row of form === 'lines' ? linesOf(text) : elementsOf(text)) {
    if (rows.length === ROWS_MAX) throw invalidRows('The body has more than 1,000 rows; send the others by further requests.')
    const target = `[${rows.length}]`
    if (row.length > BODY_BYTES_MAX) throw new ApiError('PayloadTooLarge', `${target}: A row may have up to 1 MiB.`, { target })
    rows.push(row)
    const others = turn()
    if (others !== null) await others
  }
  if (rows.length === 0) throw invalidRows('The body has no rows; it may have 1 to 1,000.')
  return rows
}

/** Lines without the spaces before them; blank lines are left out. */
function* linesOf(text: string): Generator<string> {
  let index = 0
  for (const [line] of text.matchAll(/[^ \t\r\n][^\n]*/g)) {
    if (isExcessive(line)) throw excessive(`[${index}]`)
    index++
    yield line
  }
}

/** The elements of an array. */
function* elementsOf(text: string): Generator<string> {
  let start = text.indexOf('[') + 1
  for (let index = 0; ; index++) {
    const end = elementEnd(text, start)
    if (end === EXCESSIVE) throw excessive(`[${index}]`)
    if (end === NO_END || text[end] === '}') break
    const element = text.slice(start, end)
    if (text[end] === ']') {
      if (!BLANK.test(text.slice(end + 1))) break
      if (index > 0 || !BLANK.test(element)) yield element
      return
    }
    yield element
    start = end + 1
  }
  throw invalidJson('The body is not JSON: the array does not end where the body does.')
}

const BLANK = /^[ \t\r\n]*$/

function excessive(target: string): ApiError {
  const message = `${target} has more values or escapes, or is nested more deeply, than any entity.`
  return new ApiError('InvalidJson', message, { target })
}

function invalidRows(message: string): ApiError {
  return new ApiError('InvalidRows', message, { target: 'Body' })
}
