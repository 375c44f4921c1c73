import { findJsonFault } from '../parse/jsonFault.ts'
import { countLines, FileFault, requireRowLength } from './fileFault.ts'

/** A row of a file. */
export interface FileRow {
  /** Of its first character, from 1. */
  readonly line: number
  /** JSON without a line feed. */
  readonly json: string
}

/**
 * The values of one array of JSON, or of JSON in lines, which the first character says. Its text comes in any pieces, of which no more is kept than the
 * value that has begun. @throws FileFault where it is not JSON
 */
export async function* jsonRows(pieces: AsyncIterable<string>): AsyncGenerator<FileRow, void, undefined> {
  let begin = ''
  let rows: LinesText | ArrayText | null = null
  for await (const piece of pieces) {
    begin = rows === null ? begin + piece : piece
    rows ??= textOf(begin)
    if (rows !== null) yield* rows.take(begin)
    else requireRowLength(1, begin.length)
  }
  if (rows !== null) yield* rows.end()
}

/** Null: there are but spaces. */
function textOf(text: string): LinesText | ArrayText | null {
  const first = text.trimStart()[0]
  if (first === undefined) return null
  return first === '[' ? new ArrayText() : new LinesText()
}

class LinesText {
  /** From the line on that has not ended. */
  private text = ''
  private line = 1;

  *take(piece: string): Generator<FileRow, void, undefined> {
    const lines = (this.text + piece).split('\n')
    this.text = lines.pop() as string
    for (const text of lines) yield* this.row(text)
    requireRowLength(this.line, this.text.length)
  }

  *end(): Generator<FileRow, void, undefined> {
    yield* this.row(this.text)
  }

  /** Of a line of nothing but spaces, none. */
  private *row(text: string): Generator<FileRow, void, undefined> {
    const line = this.line++
    if (text.trim() !== '') yield rowOf(line, text)
  }
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

class ArrayText {
  /** From the value on that has not ended. */
  private text = ''
  private line = 1
  /** Up to where the text is read. */
  private at = 0
  /** Of arrays and objects that have begun and not ended. */
  private depth = 0
  private isInText = false
  private isEscaped = false
  private hasBegun = false
  private isEnded = false
  private values = 0;

  *take(piece: string): Generator<FileRow, void, undefined> {
    this.text += piece
    let start = 0
    for (; this.at < this.text.length; this.at++) {
      if (!this.isBound(this.text.charCodeAt(this.at))) continue
      const value = this.text.slice(start, this.at)
      start = this.at + 1
      yield* this.value(value)
    }
    this.text = this.text.slice(start)
    this.at = this.text.length
    requireRowLength(this.line, this.at)
  }

  end(): FileRow[] {
    const begin = this.line + countLines(leadingSpaces(this.text))
    if (this.isEnded && this.text.trim() !== '') throw new FileFault(begin, 'nothing may follow the array')
    if (!this.isEnded) throw new FileFault(this.line + countLines(this.text), 'the file ends before the array does')
    return []
  }

  /** Whether the array begins with this character, or a value of it is over. */
  private isBound(unit: number): boolean {
    if (this.isInText) {
      this.isInText = this.isEscaped || unit !== QUOTE
      this.isEscaped = !this.isEscaped && unit === BACKSLASH
      return false
    }
    if (this.isEnded) return false
    if (unit === OBJECT_END && this.depth === 1)
      throw new FileFault(this.line, 'a value of the array ends with }, which begins nowhere')
    if (unit === QUOTE) this.isInText = true
    else if (unit === ARRAY_BEGIN || unit === OBJECT_BEGIN) return ++this.depth === 1
    else if (unit === ARRAY_END || unit === OBJECT_END) this.isEnded = --this.depth === 0
    return this.isEnded || (unit === COMMA && this.depth === 1)
  }

  /** What stands between two bounds; before the first, nothing does. */
  private *value(text: string): Generator<FileRow, void, undefined> {
    const line = this.line + countLines(leadingSpaces(text))
    this.line += countLines(text)
    const isBefore = !this.hasBegun
    this.hasBegun = true
    const isEmptyArray = this.isEnded && this.values === 0 && text.trim() === ''
    if (isBefore || isEmptyArray) return
    this.values++
    yield rowOf(line, text)
  }
}

function leadingSpaces(text: string): string {
  return text.slice(0, text.length - text.trimStart().length)
}

/** `line`: of the first character behind spaces. @throws FileFault where it is not JSON */
function rowOf(line: number, text: string): FileRow {
  const json = text.trim()
  try {
    JSON.parse(json)
  } catch {
    const { at, expected } = findJsonFault(json) ?? { at: 0, expected: 'JSON' }
    throw new FileFault(line + countLines(json.slice(0, at)), `it is not JSON: there must be ${expected}`)
  }
  // A line feed stands between values alone.
  return { line, json: json.replace(/[\r\n]+/g, ' ') }
}
