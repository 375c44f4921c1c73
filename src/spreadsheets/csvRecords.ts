// Reads the records of a CSV, each with the line where it begins. Runs in browsers, too.
import type { CellFault } from './sheet.ts'

/** Thrown for a file that cannot be read in its format, with the line of the fault. */
export class FileFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum length of a row in characters. A server accepts rows of up to 1 MiB; in a CSV, doubled quotes make a row longer. */
export const ROW_LENGTH_MAX = 2 * 1024 * 1024

/** Fault of a row over `ROW_LENGTH_MAX`. */
export const ROW_TOO_LONG = 'a row of more than 1 MiB begins here'

/** A row of a CSV or of a sheet. In a CSV, a row has several lines if its texts have line breaks. */
export interface CsvRecord {
  /** Line of the record's first character, from 1; in a sheet, the number of the row. */
  readonly line: number
  /** Values of the cells. A cell without characters is null, and a cell that is only a pair of quotes is an empty text. */
  readonly cells: readonly (string | null)[]
  /** Character between the cells; null: the file has a single column. */
  readonly separator: string | null
  /** Indexes of cells of a sheet that have the same notation in all languages; undefined in a CSV. */
  readonly plain?: ReadonlySet<number>
  /** Cells of a sheet that cannot be read, by their indexes; undefined in a CSV. */
  readonly faults?: ReadonlyMap<number, CellFault>
}

/**
 * Yields the records of a CSV (RFC 4180). The separator is the comma, semicolon, tab or `|` that most of the first lines have
 * equally often. If the file begins with a line such as `sep=;`, this line names the separator. Lines with nothing but separators
 * are omitted. `pieces`: consecutive pieces of the text; no piece ends within a character. @throws FileFault for wrong quotes and
 * for rows that are too long
 */
export async function* csvRecords(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord, void, undefined> {
  let reader: RecordReader | null = null
  let unread = ''
  for await (const piece of pieces) {
    unread += piece
    if (reader === null && unread.length < SAMPLE_LENGTH) continue
    reader ??= readerOf(unread)
    if (reader === null) continue
    yield* reader.read(unread)
    unread = ''
  }
  // The file can be a single line without a line feed. `readerOf` needs a complete line, so a line feed is added.
  reader ??= readerOf(`${unread}\n`)
  if (reader === null) return
  yield* reader.read(unread)
  yield* reader.finish()
}

const FIRST_LINE = /^[\r\n]*([^\r\n]+)[\r\n]/
/** Matches the line `sep=;`, which Excel reads as a setting, and other programs write for Excel. */
const NAMED_SEPARATOR = /^"?sep=(.*?)"?$/i
const SEPARATORS = [',', ';', '\t', '|']

/**
 * Returns a reader for the separator of the file. Returns null if more text is needed, because `text` ends before the first line
 * does.
 */
function readerOf(text: string): RecordReader | null {
  const [, firstLine] = FIRST_LINE.exec(text) ?? []
  const lineOf = () => 1 + lineEndsIn(/^[\r\n]*/.exec(text)?.[0] ?? '')
  if (firstLine === undefined) {
    if (text.length > ROW_LENGTH_MAX) throw new FileFault(lineOf(), ROW_TOO_LONG)
    return null
  }
  const [, named] = NAMED_SEPARATOR.exec(firstLine) ?? []
  if (named === undefined) return new RecordReader(separatorOf(text), 0)
  if (SEPARATORS.includes(named)) return new RecordReader(named, 1)
  throw new FileFault(lineOf(), 'sep= names a comma, a semicolon, a tab or |, and nothing else')
}

/** Number of characters at the beginning of a file that are searched for the separator. */
const SAMPLE_LENGTH = 16 * 1024
const SAMPLE_LINES = 30
/** Minimum number of separators in the lines below a title: with fewer, the file may be a single column of texts with commas. */
const SEPARATORS_MIN = 2
/** Matches a cell in quotes, also a cell whose closing quote comes after the sample. */
const QUOTED = /(?<=^|[,;\t|\n])[^\S\n]*"(?:[^"]|"")*(?:"|$)/g

/**
 * Returns the separator that most lines have equally often, outside of quotes. The header and the rows of a table have the same
 * number of separators; titles and texts do not. Returns null if no line has a separator.
 */
function separatorOf(text: string): string | null {
  const sample = text.slice(0, SAMPLE_LENGTH).replace(/\r\n?/g, '\n')
  const unquoted = sample.replace(QUOTED, '')
  const lines = unquoted.split('\n').filter((line) => line.trim() !== '')
  // The last line of the sample may be incomplete.
  const whole = (lines.length > 2 && text.length > SAMPLE_LENGTH ? lines.slice(0, -1) : lines).slice(0, SAMPLE_LINES)
  // A first line without separators is a title above a table, or the header of a single column, whose texts may have commas.
  const isTitle = !SEPARATORS.some((separator) => whole[0]?.includes(separator))
  const found = SEPARATORS.map((separator) => ({ separator, ...mostFrequent(whole, separator, isTitle) })).filter(
    ({ count }) => !isTitle || count >= SEPARATORS_MIN,
  )
  const inFirst = (separator: string) => (whole[0]?.split(separator).length ?? 1) - 1
  const [best] = found.sort(
    (one, other) => other.lines - one.lines || inFirst(other.separator) - inFirst(one.separator) || other.count - one.count,
  )
  return best === undefined || best.lines === 0 ? null : best.separator
}

/**
 * Returns the number of separators that most lines have, and how many lines have this number. Lines without a separator do not
 * count. `isOfTexts`: true if a comma before a blank belongs to a text, as in `Müller, Jürgen`.
 */
function mostFrequent(lines: readonly string[], separator: string, isOfTexts: boolean) {
  const counts = new Map<number, number>()
  for (const line of lines) {
    const count = line.split(separator === ',' && isOfTexts ? /,(?! )/ : separator).length - 1
    if (count > 0) counts.set(count, (counts.get(count) ?? 0) + 1)
  }
  const [[count, most] = [0, 0]] = [...counts].sort(
    ([one, linesOfOne], [other, linesOfOther]) => linesOfOther - linesOfOne || other - one,
  )
  return { count, lines: most }
}

const QUOTE_MISSING = 'the quote that ends a text is missing'
const QUOTE_MISPLACED = 'a text with a quote in it stands in quotes, and its quotes are doubled'

/** Reads a file piece by piece. Between pieces it keeps the text of the record that has not ended yet. */
class RecordReader {
  private text = ''
  private cells: (string | null)[] = []
  /** Position in `text` at which the unfinished record begins. */
  private recordStart = 0
  /** Position in `text` at which the last cell of the unfinished record begins. */
  private cellStart = 0
  /** Position in `text` up to which the end of the last cell was searched. */
  private searchStart = 0
  private recordLine = 1
  private cellLine = 1
  /** True after a carriage return: if a line feed follows, the two are one line break. */
  private isAfterReturn = false
  private readonly mark: RegExp

  /**
   * `separator`: null if there is a single column. `skipped`: number of records to skip at the beginning: 1 for the line `sep=;`.
   */
  constructor(
    private readonly separator: string | null,
    private skipped: number,
  ) {
    this.mark = new RegExp(`["\\r\\n${separator === '|' ? '\\|' : (separator ?? '')}]`, 'g')
  }

  /** Yields the records that end in `text`. @throws FileFault after it has yielded the records before the fault */
  *read(text: string): Generator<CsvRecord, void, undefined> {
    if (text === '') return
    this.text += this.isAfterReturn && text.startsWith('\n') ? text.slice(1) : text
    this.isAfterReturn = false
    yield* this.records(false)
    this.forgetRead()
    this.requireLength()
  }

  /** Yields the record at the end of the file. @throws FileFault */
  *finish(): Generator<CsvRecord, void, undefined> {
    yield* this.records(true)
  }

  private *records(isLast: boolean): Generator<CsvRecord, void, undefined> {
    const { text } = this
    while (this.cellStart < text.length || (isLast && this.cells.length > 0)) {
      const end = this.endOfCell(isLast)
      if (end === null) return
      const cell = text.slice(this.cellStart, end)
      this.cells.push(textOfCell(cell))
      this.cellLine += lineEndsIn(cell)
      const isWithin = end < text.length && text.charAt(end) === this.separator
      this.cellStart = isWithin ? end + 1 : this.afterLine(end, isLast)
      this.searchStart = this.cellStart
      if (!isWithin) yield* this.endRecord()
    }
  }

  /** Returns the position at which the cell ends; null if this position is not in the text yet. @throws FileFault */
  private endOfCell(isLast: boolean): number | null {
    const { text, mark } = this
    if (text.charAt(this.cellStart) === '"') return this.endOfQuoted(isLast)
    mark.lastIndex = this.searchStart
    const found = mark.exec(text)
    if (found?.[0] === '"') throw new FileFault(this.cellLine, QUOTE_MISPLACED)
    if (found !== null) return found.index
    this.searchStart = text.length
    return isLast ? text.length : null
  }

  private endOfQuoted(isLast: boolean): number | null {
    const { text, separator } = this
    for (let from = Math.max(this.searchStart, this.cellStart + 1); ; ) {
      const quote = text.indexOf('"', from)
      const isOpen = quote < 0
      if (isOpen && isLast) throw new FileFault(this.cellLine, QUOTE_MISSING)
      if (isOpen || (quote + 1 === text.length && !isLast)) {
        this.searchStart = isOpen ? text.length : quote
        return null
      }
      const next = text.charAt(quote + 1)
      if (next === '' || next === separator || next === '\r' || next === '\n') return quote + 1
      if (next !== '"') throw new FileFault(this.cellLine, QUOTE_MISPLACED)
      from = quote + 2
    }
  }

  /** Returns the position at which the next line begins, and counts the line. */
  private afterLine(end: number, isLast: boolean): number {
    const { text } = this
    if (end === text.length) return end
    this.cellLine++
    if (text.charAt(end) !== '\r') return end + 1
    this.isAfterReturn = end + 1 === text.length && !isLast
    return text.charAt(end + 1) === '\n' ? end + 2 : end + 1
  }

  private *endRecord(): Generator<CsvRecord, void, undefined> {
    const { cells, recordLine: line, separator } = this
    this.cells = []
    this.recordStart = this.cellStart
    this.recordLine = this.cellLine
    if (cells.every((cell) => cell === null)) return
    if (this.skipped > 0) this.skipped--
    else yield { line, cells, separator }
  }

  private forgetRead(): void {
    this.text = this.text.slice(this.recordStart)
    this.cellStart -= this.recordStart
    this.searchStart -= this.recordStart
    this.recordStart = 0
  }

  /** Checks the length of the record that has not ended. @throws FileFault if it is too long */
  private requireLength(): void {
    const { text } = this
    if (text.length <= ROW_LENGTH_MAX) return
    throw /[\r\n]/.test(text) ? new FileFault(this.cellLine, QUOTE_MISSING) : new FileFault(this.recordLine, ROW_TOO_LONG)
  }
}

/** Returns the value of a cell without its quotes; null if the cell has no characters. */
function textOfCell(cell: string): string | null {
  return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell || null
}

function lineEndsIn(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0
}
