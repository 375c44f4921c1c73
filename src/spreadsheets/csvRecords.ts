// Reads the records of a CSV with csv-parse, each with the line where it begins.
import { type CsvError, Parser } from 'csv-parse'
import type { CellFault } from './sheet.ts'

/** A file that cannot be read as what it is, with the line of the fault. */
export class FileFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum length of a row in bytes or characters. A server takes rows of up to 1 MiB; doubled quotes make them longer. */
export const ROW_LENGTH_MAX = 2 * 1024 * 1024

/** Fault of a row over `ROW_LENGTH_MAX`. */
export const ROW_TOO_LONG = 'a row of more than 1 MiB begins here'

/** A row of a CSV, which has several lines if its texts have line breaks; or a row of a sheet. */
export interface CsvRecord {
  /** Line of its first character, from 1; number of the row in a sheet. */
  readonly line: number
  /** A cell without characters is null; one with only quotes is an empty text. */
  readonly cells: readonly (string | null)[]
  /** Character between the cells; null: the file has a single column. */
  readonly separator: string | null
  /** Indexes of cells of a sheet that have the same notation in all languages; undefined in a CSV. */
  readonly plain?: ReadonlySet<number>
  /** Cells of a sheet that cannot be read, by their indexes; undefined in a CSV. */
  readonly faults?: ReadonlyMap<number, CellFault>
}

/**
 * Yields the records of a CSV (RFC 4180), separated by commas, semicolons or tabs, of which the first line has most outside of
 * quotes, or by the character that a line `sep=;` before it names. Lines with nothing but separators are omitted.
 * `pieces`: text, not divided within a character. @throws FileFault for wrong quotes and for rows that are too long
 */
export async function* csvRecords(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord, void, undefined> {
  let reader: RecordReader | null = null
  let unread = ''
  for await (const piece of pieces) {
    unread += piece
    reader ??= readerOf(unread)
    if (reader === null) continue
    yield* reader.read(unread)
    unread = ''
  }
  // The only line of a file may have no end.
  reader ??= readerOf(`${unread}\n`)
  if (reader === null) return
  yield* reader.read(unread)
  yield* reader.finish()
}

const FIRST_LINE = /^[\r\n]*([^\r\n]+)[\r\n]/
/** The line `sep=;` that Excel reads as a setting, and other programs write for it. */
const NAMED_SEPARATOR = /^"?sep=(.*?)"?$/i
const SEPARATORS = [',', ';', '\t', '|']

/** Returns a reader for the separator in the first line that is not blank; null: `text` does not have that whole line yet. */
function readerOf(text: string): RecordReader | null {
  const [, firstLine] = FIRST_LINE.exec(text) ?? []
  const lineOf = () => new LineCounter(Buffer.from(text)).lineAt(0)
  if (firstLine === undefined) {
    if (text.length > ROW_LENGTH_MAX) throw new FileFault(lineOf(), ROW_TOO_LONG)
    return null
  }
  const [, named] = NAMED_SEPARATOR.exec(firstLine) ?? []
  if (named === undefined) return new RecordReader(separatorOf(firstLine), 0)
  if (SEPARATORS.includes(named)) return new RecordReader(named, 1)
  throw new FileFault(lineOf(), 'sep= names a comma, a semicolon, a tab or |, and nothing else')
}

/** Returns the separator that a header has most; null: it has none. */
function separatorOf(firstLine: string): string | null {
  const unquoted = firstLine.replace(/"(?:[^"]|"")*"/g, '')
  // A header that goes on in the next line has an open quote.
  const text = unquoted === '' ? firstLine : unquoted
  const count = (separator: string) => text.split(separator).length - 1
  const [best = ','] = [',', ';', '\t'].sort((one, other) => count(other) - count(one))
  return count(best) > 0 ? best : null
}

/** Stands for the separator of a single column, whose cells may have any character: no text in UTF-8 has this byte. */
const NO_SEPARATOR = Buffer.of(0xff)

const QUOTE_MISSING = 'the quote that ends a text is missing'
const QUOTE_MISPLACED = 'a text with a quote in it stands in quotes, and its quotes are doubled'

/** Reads a file piece by piece. csv-parse counts bytes reliably, but not lines, so lines are counted here by its bytes. */
class RecordReader {
  private readonly parser: Parser
  private readonly lines = new LineCounter()
  private records: CsvRecord[] = []
  /** Position after the last record, in bytes. */
  private recordEnd = 0

  /** `separator`: null if there is a single column. `skipped`: number of records before the header. */
  constructor(
    private readonly separator: string | null,
    private skipped: number,
  ) {
    this.parser = new Parser({
      delimiter: separator ?? NO_SEPARATOR,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
      on_record: (cells, { bytes }) => {
        this.add(cells, bytes)
        // Nothing is pushed to the readable side of the stream, whose buffer would hold back the writes.
        return null
      },
    })
    // The callbacks of `write` and `end` get the error.
    this.parser.on('error', () => undefined)
  }

  /** Yields the records that end in `text`. @throws FileFault after the records before it */
  read(text: string): AsyncGenerator<CsvRecord, void, undefined> {
    const bytes = Buffer.from(text)
    this.lines.add(bytes)
    return this.recordsAfter((done) => this.parser.write(bytes, done))
  }

  /** Yields the record at the end of the file. @throws FileFault */
  finish(): AsyncGenerator<CsvRecord, void, undefined> {
    return this.recordsAfter((done) => this.parser.end(done))
  }

  private async *recordsAfter(step: (done: (error?: Error | null) => void) => void): AsyncGenerator<CsvRecord, void, undefined> {
    const error = await new Promise<Error | null | undefined>((done) => step(done))
    const { records } = this
    this.records = []
    yield* records
    if (error) throw this.faultOf(error as CsvError)
    this.requireLength()
  }

  private add(cells: readonly (string | null)[], end: number): void {
    const line = this.lines.lineAt(this.recordEnd)
    this.recordEnd = end
    if (this.skipped > 0) this.skipped--
    else if (cells.some((cell) => cell !== null)) this.records.push({ line, cells, separator: this.separator })
  }

  /** Returns the fault with the line in which its cell begins: `info.bytes` is the end of the cell or record before it. */
  private faultOf({ code }: CsvError): FileFault {
    const message = code === 'CSV_QUOTE_NOT_CLOSED' ? QUOTE_MISSING : QUOTE_MISPLACED
    return new FileFault(this.lines.lineAt(this.parser.info.bytes), message)
  }

  /** Bounds a record that has not ended. csv-parse would not: its `max_record_size` does not count empty cells. */
  private requireLength(): void {
    const line = this.lines.lineAt(this.recordEnd)
    if (this.lines.length <= ROW_LENGTH_MAX) return
    const cellLine = this.lines.lineAt(this.parser.info.bytes)
    throw this.lines.hasLineEnd() ? new FileFault(cellLine, QUOTE_MISSING) : new FileFault(line, ROW_TOO_LONG)
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Counts the lines of a file up to ascending positions, and holds the bytes after the last one asked for. */
class LineCounter {
  private line = 1
  /** Position of the first byte held. */
  private position = 0
  private isAfterReturn = false

  constructor(private bytes: Buffer = Buffer.alloc(0)) {}

  /** Number of bytes after the last position asked for. */
  get length(): number {
    return this.bytes.length
  }

  add(bytes: Buffer): void {
    this.bytes = this.bytes.length === 0 ? bytes : Buffer.concat([this.bytes, bytes])
  }

  /** Returns the line of the first character at `position` or later that does not end a line. */
  lineAt(position: number): number {
    const { bytes } = this
    let index = 0
    for (; index < bytes.length; index++) {
      const byte = bytes[index]
      const isReturn = byte === CARRIAGE_RETURN
      const isFeed = byte === LINE_FEED
      if (this.position + index >= position && !isReturn && !isFeed) break
      if (isReturn || (isFeed && !this.isAfterReturn)) this.line++
      this.isAfterReturn = isReturn
    }
    this.bytes = bytes.subarray(index)
    this.position += index
    return this.line
  }

  /** True if the bytes held have a line break. */
  hasLineEnd(): boolean {
    return this.bytes.includes(LINE_FEED) || this.bytes.includes(CARRIAGE_RETURN)
  }
}
