import { faultOf } from '../parse/json.ts'
import { FileFault, requireRowLength } from './fileFault.ts'

/** A row of a file. */
export interface FileRow {
  /** Position in the file as messages say it: `line 3`, or `row 3` of an array. */
  readonly at: string
  /** JSON without a line feed. */
  readonly json: string
}

/** An array is read whole, and takes about ten times its size in memory. */
const ARRAY_LENGTH_MAX = 64 * 1024 * 1024

/** Reads one object from each line that is not blank. @throws FileFault where a line is not JSON */
export async function* jsonLines(pieces: AsyncIterable<string>): AsyncGenerator<FileRow, void, undefined> {
  let line = 1
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() as string
    for (const text of lines) yield* rowOf(line++, text)
    requireRowLength(line, rest.length)
  }
  yield* rowOf(line, rest)
}

function* rowOf(line: number, text: string): Generator<FileRow> {
  const json = text.trim()
  if (json === '') return
  try {
    JSON.parse(json)
  } catch (error) {
    throw new FileFault(line, `it is not JSON: ${faultOf(error)}`)
  }
  yield { at: `line ${line}`, json }
}

/** Reads an array of up to 64 MiB. Its numbers keep their digits. @throws FileFault where it is larger, or is no array */
export async function* jsonArray(pieces: AsyncIterable<string>): AsyncGenerator<FileRow, void, undefined> {
  let text = ''
  for await (const piece of pieces) {
    text += piece
    if (text.length > ARRAY_LENGTH_MAX)
      throw new FileFault(
        null,
        "an array may have up to 64 MiB; make NDJSON of a larger one (jq -c '.[]' rows.json > rows.ndjson)",
      )
  }
  const values = parseArray(text)
  for (const [index, value] of values.entries()) yield { at: `row ${index + 1}`, json: JSON.stringify(value) }
}

function parseArray(text: string): unknown[] {
  let values: unknown
  try {
    values = JSON.parse(text, withDigits)
  } catch (error) {
    throw new FileFault(null, `it is not JSON: ${faultOf(error)}`)
  }
  if (!Array.isArray(values)) throw new FileFault(null, 'it must be an array; for an object in each line: --format ndjson')
  return values
}

declare global {
  interface JSON {
    rawJSON(text: string): unknown
  }
}

function withDigits(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context ? JSON.rawJSON(context.source) : value
}
