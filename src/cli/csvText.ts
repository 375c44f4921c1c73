import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { suggest } from '../model/nearest.ts'
import { instantOfSpreadsheet, unescapeFormulas } from '../model/spreadsheet.ts'
import { countLines, FileFault, requireRowLength } from './fileFault.ts'
import { counted } from './progress.ts'

/** A line of a CSV, which may go on over several lines of its text. */
export interface CsvRecord {
  /** Line of its first character, from 1. */
  readonly line: number
  /** Null: nothing, not even quotes. */
  readonly cells: readonly (string | null)[]
  /** Character between the cells. */
  readonly separator: string
}

/**
 * The records of a CSV as RFC 4180 has them, separated by commas, or by semicolons or tabs where the first line has no comma,
 * or by what a line `sep=;` before it names; lines with nothing but separators are none. Its text comes in any pieces, of which
 * no more is kept than the record that has begun. @throws FileFault where quotes are wrong
 */
export async function* csvRecords(pieces: AsyncIterable<string>): AsyncGenerator<CsvRecord, void, undefined> {
  const text = new CsvText()
  for await (const piece of pieces) yield* text.take(piece, false)
  yield* text.take('', true)
}

const QUOTED = /"[^"]*(?:""[^"]*)*"/y
const NEWLINE = /\r\n|\n|\r/y
/** The line `sep=;` that Excel reads as a setting, and other programs write for it. */
const NAMED_SEPARATOR = /^"?sep=(.*?)"?$/i
const SEPARATORS = [',', ';', '\t', '|']

interface Ended extends CsvRecord {
  /** Offset of the next record. */
  readonly end: number
}

class CsvText {
  /** From the record on that has not ended. */
  private text = ''
  private line = 1
  private separator: string | null = null
  private plain = NEWLINE;

  *take(piece: string, isLast: boolean): Generator<CsvRecord, void, undefined> {
    this.text += piece
    if (this.separator === null) this.findSeparator(isLast)
    if (this.separator === null) return
    let begin = 0
    while (begin < this.text.length) {
      const record = this.record(begin, isLast)
      if (record === null) break
      if (record.cells.some((cell) => cell !== null)) yield record
      this.line = record.line + countLines(this.text.slice(begin, record.end))
      begin = record.end
    }
    this.text = this.text.slice(begin)
  }

  /** Null: it may go on in the next piece. */
  private record(begin: number, isLast: boolean): Ended | null {
    const { text, separator, line } = this
    const cells: (string | null)[] = []
    let at = begin
    for (;;) {
      const isQuoted = text[at] === '"'
      const cell = match(isQuoted ? QUOTED : this.plain, text, at)
      if (cell === null) return this.unended(begin, at, isLast, 'the quote that ends a text is missing')
      at += cell.length
      cells.push(isQuoted ? cell.slice(1, -1).replaceAll('""', '"') : cell || null)
      if (text[at] === separator) at++
      else break
    }
    const newline = match(NEWLINE, text, at)
    if (newline === null && at < text.length)
      return this.unended(begin, at, isLast, 'a text with a quote in it stands in quotes, and its quotes are doubled')
    const end = at + (newline?.length ?? 0)
    // A line feed may follow, and belong to the same end of a line.
    const isOpen = newline === null || (newline === '\r' && end === text.length)
    return isOpen && !isLast ? this.unended(begin, at, false, '') : { line, cells, separator: separator ?? ',', end }
  }

  /** Returns null if more text may complete the record. @throws FileFault if there is no more, or too much */
  private unended(begin: number, at: number, isLast: boolean, message: string): null {
    if (isLast) throw new FileFault(this.line + countLines(this.text.slice(begin, at)), message)
    requireRowLength(this.line, this.text.length - begin)
    return null
  }

  /** Spreadsheets of many countries write semicolons. Names of properties have none of them. */
  private findSeparator(isLast: boolean) {
    const header = /^[\r\n]*([^\r\n]+)([\r\n])?/.exec(this.text)
    if (!isLast && header?.[2] === undefined) return requireRowLength(this.line, this.text.length)
    const named = NAMED_SEPARATOR.exec(header?.[1] ?? '')?.[1]
    if (named !== undefined && !SEPARATORS.includes(named))
      throw new FileFault(this.line, 'sep= names a comma, a semicolon, a tab or |, and nothing else')
    if (named !== undefined && !this.leaveOut(header?.[0] as string, isLast)) return
    // Of one name alone, lines are cells as they are.
    this.separator = named ?? [',', ';', '\t'].find((candidate) => header?.[1]?.includes(candidate)) ?? ''
    this.plain = new RegExp(`[^${this.separator}"\\r\\n]*`, 'y')
  }

  /** Goes on behind these first lines. False: a line feed may follow, and belong to their end. */
  private leaveOut(lines: string, isLast: boolean): boolean {
    if (lines.endsWith('\r') && lines.length === this.text.length && !isLast) return false
    const end = /\r$/.test(lines) && this.text[lines.length] === '\n' ? lines.length + 1 : lines.length
    this.line += countLines(this.text.slice(0, end))
    this.text = this.text.slice(end)
    return true
  }
}

/** Returns the match of the pattern at `at`; null: there is none. */
function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

/** Options of reading a CSV. */
export interface CsvReading {
  /** True if the file is one of `export --excel`; null: unknown, so values that only such a file has are refused. */
  readonly isExcel: boolean | null
  /** Property that is read although clients do not write it; null: none. */
  readonly matched: Property | null
  /** Called for each day that is taken for a date-time. */
  onDay(property: Property): void
}

/** Writes the records below a CSV's header as objects of JSON. */
export interface CsvWriter {
  /** The columns that clients do not write, as the file calls them. */
  readonly readOnly: readonly string[]
  /** @throws FileFault for a record with another number of cells */
  write(record: CsvRecord): string
}

/**
 * `header`: names as in JSON or in parameters, in any case, with dots for parts. @throws FileFault for an unknown name
 */
export function csvWriter(entity: Entity, header: CsvRecord, { isExcel, matched, onDay }: CsvReading): CsvWriter {
  const columns = withoutEnd(header.cells).map((name, index) => columnOf(entity, header, name ?? '', index))
  const isRead = (property: Property) => property.writable || property === matched
  const cells = columns.flatMap((property, index) => (isRead(property) ? [{ property, index }] : []))
  const { separator } = header
  if (cells.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  const groups = Map.groupBy(cells, ({ property }) => (property.path.length > 1 ? (property.path[0] as string) : ''))
  const objectOf = (members: typeof cells, record: CsvRecord) =>
    members
      .flatMap(({ property, index }) => {
        const cell = unescapedCell(property, record, index, isExcel)
        return memberOf(property, cell === null ? null : plainCell(property, cell, separator, onDay))
      })
      .join()
  return {
    readOnly: columns.filter((property) => !isRead(property)).map(({ path }) => path.join('.')),
    write(record) {
      const { length } = record.cells
      if (length < columns.length || withoutEnd(record.cells).length > columns.length)
        throw new FileFault(
          record.line,
          `the row has ${counted(length, 'value')}, and the header ${counted(columns.length, 'name')}`,
        )
      const members = [...groups].map(([group, own]) => {
        const text = objectOf(own, record)
        return group === '' ? text : `${JSON.stringify(group)}:{${text}}`
      })
      return `{${members.filter((text) => text !== '').join()}}`
    },
  }
}

/** Without the empty cells at the end, which spreadsheets write for columns that were cleared. */
function withoutEnd(cells: CsvRecord['cells']): CsvRecord['cells'] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1)
}

/** A cell as it was before `export --excel` escaped it. @throws FileFault for an escaped cell where `isExcel` is null */
function unescapedCell(
  { kind, path }: Property,
  { cells, line }: CsvRecord,
  index: number,
  isExcel: boolean | null,
): string | null {
  const cell = cells[index] ?? null
  if (cell === null || isExcel === false) return cell
  const plain = isText(kind.name) ? unescapeFormulas(cell) : kind.name === 'instant' ? (instantOfSpreadsheet(cell) ?? cell) : cell
  if (isExcel || plain === cell) return plain
  const name = path.join('.')
  throw new FileFault(
    line,
    `${name} is as export --excel writes it: give --excel to read it so, or --no-excel to take it as it stands`,
  )
}

function columnOf(entity: Entity, { line, cells }: CsvRecord, name: string, index: number): Property {
  if (name.trim() === '') throw new FileFault(line, `column ${index + 1} has no name`)
  const member = entity.byName.get(name.toLowerCase().trim())
  if (!member) {
    const known = entity.properties.map(({ path }) => path.join('.'))
    throw new FileFault(line, `${entity.plural} have no property "${name}".${suggest(name, known)}`)
  }
  if (isGroup(member)) {
    const parts = member.properties.map(({ path }) => path.join('.'))
    throw new FileFault(line, `${name} is an object; its parts have columns of their own: ${parts.join(', ')}`)
  }
  if (cells.findIndex((other) => other?.toLowerCase().trim() === name.toLowerCase().trim()) < index)
    throw new FileFault(line, `${name} is there twice`)
  return member
}

const DAY = /^\d{4}-\d\d-\d\d$/
const DECIMAL_COMMA = /^-?\d+,\d+$/

/** A day as midnight UTC; a number with a decimal comma, where no comma separates cells, with a point. */
function plainCell(property: Property, cell: string, separator: string, onDay: CsvReading['onDay']): string {
  const { name } = property.kind
  if (name === 'instant' && DAY.test(cell)) {
    onDay(property)
    return `${cell}T00:00:00Z`
  }
  return name === 'decimal' && separator !== ',' && DECIMAL_COMMA.test(cell) ? cell.replace(',', '.') : cell
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * An empty cell of a property that is never null is left out. What fits no type goes as it is, and the server says what it must
 * be.
 */
function memberOf({ kind, path }: Property, cell: string | null): string[] {
  const isEmpty = cell === null || (cell === '' && kind.name !== 'text')
  if (isEmpty && !kind.nullable) return []
  return [`${JSON.stringify(path.at(-1))}:${isEmpty ? 'null' : jsonOf(kind.name, cell)}`]
}

function jsonOf(kind: Property['kind']['name'], cell: string): string {
  const lower = cell.toLowerCase()
  if (kind === 'boolean' && (lower === 'true' || lower === 'false')) return lower
  if ((kind === 'integer' || kind === 'decimal') && NUMBER.test(cell)) return cell
  return JSON.stringify(cell)
}
