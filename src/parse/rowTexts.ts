import { ApiError } from '../errors.ts'
import { takeTurns } from '../os/turns.ts'
import { invalidJson } from './bodyBytes.ts'
import { findJsonFault, placeOf } from './jsonFault.ts'

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

/** Where the JSON of each row stands in the text: its begin and its end, by turns. */
export type RowPlaces = readonly number[]

/**
 * The places of 1 to 1,000 rows. What stands there need not be JSON: no more is looked at than where one row ends and the next
 * begins, so that a body can be charged by its rows before they are parsed. @throws ApiError InvalidJson, InvalidRows
 */
export async function findRows(rows: RowsText): Promise<RowPlaces> {
  const places = rows.form === 'lines' ? await linesOf(rows.text) : await elementsOf(rows)
  if (places.length === 0) throw invalidRows('The body has no rows; it may have 1 to 1,000.')
  return places
}

/** Lines of nothing but spaces are none. */
async function linesOf(text: string): Promise<RowPlaces> {
  const turn = takeTurns()
  const places: number[] = []
  let looked = 0
  for (let start = 0; start < text.length; ) {
    const at = text.indexOf('\n', start)
    const end = at === -1 ? text.length : at
    if (!isBlank(text, start, end)) add(places, start, end)
    start = end + 1
    if (start - looked < LOOK_LENGTH) continue
    looked = start
    const others = turn()
    if (others !== null) await others
  }
  return places
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isSpace(text.charCodeAt(at))) return false
  return true
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]
/** After so many characters others have their turn, if it is time. */
const LOOK_LENGTH = 64 * 1024

/** Of an array that begins behind spaces. */
async function elementsOf(rows: RowsText): Promise<RowPlaces> {
  const { text } = rows
  const turn = takeTurns()
  const places: number[] = []
  const begin = afterSpaces(text, 0)
  let start = begin + 1
  let depth = 0
  let looked = 0
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) at = stringEnd(text, at)
    else if (unit === ARRAY_BEGIN || unit === OBJECT_BEGIN) depth++
    else if (depth > 0 && (unit === ARRAY_END || unit === OBJECT_END)) depth--
    else if (depth === 0 && (unit === COMMA || unit === ARRAY_END)) {
      const isEmpty = unit === ARRAY_END && places.length === 0 && isBlank(text, start, at)
      if (!isEmpty) add(places, start, at)
      start = at + 1
      if (unit === ARRAY_END) {
        const rest = afterSpaces(text, start)
        if (rest < text.length) throw notJson(text, rest, 'nothing more')
        return places
      }
    }
    if (at - looked < LOOK_LENGTH) continue
    looked = at
    const others = turn()
    if (others !== null) await others
  }
  throw rowNotJson(rows, start, text.length, 'a comma, or ]')
}

function add(places: number[], start: number, end: number) {
  if (places.length === 2 * ROWS_MAX)
    throw invalidRows(`The body has more than 1,000 rows; send the others by further requests.`)
  places.push(start, end)
}

/** The index of the quote that ends a string; the text's length where none does. */
function stringEnd(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const at = text.indexOf('"', from)
    if (at === -1) return text.length
    let backslashes = 0
    while (at - backslashes > from && text.charCodeAt(at - backslashes - 1) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at
    from = at + 1
  }
}

function afterSpaces(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  return at
}

/** Of JSON: space, tab, line feed, carriage return. */
function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d
}

/** The error for a row that is not JSON, which says where in the whole body it is not. `atEnd`: what there must be if nothing before is wrong. */
export function rowNotJson(
  { text, form }: RowsText,
  start: number,
  end: number,
  atEnd: string | null = null,
): ApiError {
  const fault = findJsonFault(text.slice(start, end))
  if (fault === null) return atEnd === null ? invalidJson('The body is not JSON.') : notJson(text, end, atEnd)
  const behind = form === 'array' ? 'a comma, or ]' : 'the end of the line'
  return notJson(text, start + fault.at, fault.expected === 'nothing more' ? behind : fault.expected)
}

function notJson(text: string, at: number, expected: string): ApiError {
  const { line, column } = placeOf(text, at)
  return invalidJson(`The body is not JSON: at line ${line}, column ${column} there must be ${expected}.`)
}

function invalidRows(message: string): ApiError {
  return new ApiError('InvalidRows', message, { target: 'Body' })
}
