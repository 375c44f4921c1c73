// Reads the file of `roster import`, as rows of JSON with their lines.
import { statSync } from 'node:fs'
import { errorOf } from '../errors.ts'
import type { Entity, Property } from '../model/entity.ts'
import { JsonNumber } from '../model/kinds.ts'
import { wholeView } from '../model/view.ts'
import { faultOf, isObject, parseJson } from '../parse/body.ts'
import { findRelated } from '../parse/paths.ts'
import { shellWord } from '../spreadsheets/columns.ts'
import { type CsvRecord, csvRecords, FileFault, ROW_LENGTH_MAX, ROW_TOO_LONG } from '../spreadsheets/csvRecords.ts'
import { type DoubtfulWord, decoderOf, doubtfulWord, EncodingFinder } from '../spreadsheets/encoding.ts'
import type { RowFault } from '../spreadsheets/faults.ts'
import { type ReadSheet, readSheets, type SheetRow, severalText } from '../spreadsheets/sheet.ts'
import { Survey } from '../spreadsheets/survey.ts'
import { footerText, Table, type TableBounds } from '../spreadsheets/table.ts'
import { FILE_BYTES_MAX, isWorkbook, openWorkbook, WorkbookFault } from '../spreadsheets/workbook.ts'
import { HeaderFault, isColumnName, OF_OTHER_ROWS } from './fileColumns.ts'
import { counted } from './output.ts'
import { type RecordReading, type RecordRow, recordReader } from './recordJson.ts'
import { CommandError } from './run.ts'

/** A row of a file as JSON, with its position and its faults. */
export interface FileRow {
  /** Position in the file as messages say it: `line 3`, or `row 3` of a sheet. */
  readonly at: string
  /** JSON without a line feed. */
  readonly json: string
  /** Cells as the file has them, by the properties that they set; empty for NDJSON. */
  readonly cells: ReadonlyMap<Property, string>
  /** Faults of the cells; a row with a fault cannot be sent. */
  readonly faults: readonly RowFault[]
}

export type FileFormat = 'csv' | 'ndjson' | 'xlsx'

/** Options for reading a file. */
export interface FileReading extends Omit<RecordReading, 'onNote'>, TableBounds {
  readonly format: FileFormat
  /** Name of the encoding; null: the encoding is detected. */
  readonly encoding: string | null
  /** Name of the sheet; null: the only sheet with rows. */
  readonly sheet: string | null
}

/**
 * Maximum number of rows that a survey reads. A survey finds the options that the rows need; messages list them with faults of
 * the header.
 */
const SURVEYED_ROWS_MAX = 200_000
const NO_CELLS: ReadonlyMap<Property, string> = new Map()

type Records = AsyncIterable<CsvRecord> | readonly CsvRecord[]

/** Maximum number of sheets whose headers are checked for the message about several sheets. */
const SHEETS_SHOWN = 3

function recordsOf(rows: readonly SheetRow[]): CsvRecord[] {
  return rows.map(({ row, ...read }) => ({ line: row, separator: null, ...read }))
}

/** A file of rows, read piece by piece, so that it can have any length. A workbook is read whole. */
export class RowsFile {
  /** Name of the file in messages. */
  readonly name: string
  private encoding: string | null
  private records: readonly CsvRecord[] | null = null
  private survey: Survey | null = null
  /** Reason why the user should name the encoding; null if the encoding is not in doubt. */
  private doubt: string | null = null

  /** `path`: `-` for stdin. */
  constructor(
    private readonly path: string,
    private readonly entity: Entity,
    private readonly reading: FileReading,
  ) {
    this.name = nameOf(path)
    this.encoding = reading.encoding
  }

  /** Returns whether the file can be read twice; stdin and pipes cannot. @throws CommandError if there is no such file */
  isLasting(): boolean {
    if (this.path === '-') return false
    try {
      return statSync(this.path).isFile()
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
  }

  /**
   * Finds the encoding of a file that can be read twice. Reports an encoding other than UTF-8, with an example from the file.
   * @throws CommandError
   */
  async findEncoding(onNote: (text: string) => void): Promise<void> {
    if (this.encoding !== null || this.reading.format === 'xlsx') return
    const finder = new EncodingFinder()
    try {
      for await (const bytes of Bun.file(this.path).stream()) finder.add(bytes)
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
    this.encoding = finder.find()
    if (this.encoding === null) throw this.unreadable(new Error(OTHER_ENCODING))
    if (this.encoding === 'utf-8') return
    const { example, doubtful } = await this.examples()
    if (doubtful !== null) this.doubt = doubtText(doubtful)
    onNote(`${this.name} is not UTF-8; it is read as ${this.encoding}${example}. ${this.doubt ?? 'Another one: --encoding'}`)
  }

  /** Returns an example from the file, with its line: the first doubtful word, or else the first word that is not ASCII. */
  private async examples(): Promise<{ readonly example: string; readonly doubtful: DoubtfulWord | null }> {
    let line = 0
    let example = ''
    for await (const text of linesOf(this.text(), Number.MAX_SAFE_INTEGER)) {
      if (++line > SURVEYED_ROWS_MAX) break
      const [word] = /[\p{Letter}\p{Mark}]*[^\p{ASCII}][\p{Letter}\p{Mark}]*/u.exec(text) ?? []
      if (word === undefined) continue
      if (example === '') example = ` (line ${line}: ${word.slice(0, 40)})`
      const doubtful = this.encoding === 'windows-1252' ? doubtfulWord(text) : null
      if (doubtful !== null) return { example: ` (line ${line}: ${doubtful.word.slice(0, 40)})`, doubtful }
    }
    return { example, doubtful: null }
  }

  /**
   * Yields the rows. `onNote`: called for columns that are left out, and for days that are read as date-times.
   * @throws CommandError for faults
   */
  async *rows(onNote: (text: string) => void = () => undefined): AsyncGenerator<FileRow> {
    try {
      yield* this.reading.format === 'ndjson' ? this.jsonRows(onNote) : this.recordRows(onNote)
    } catch (error) {
      if (error instanceof WorkbookFault)
        throw new CommandError(
          error.row === null ? `${this.name} cannot be read: ${error.message}.` : this.faultAt(error.row, error),
        )
      if (!(error instanceof FileFault)) throw error
      throw new CommandError(this.faultAt(error.line, error))
    }
  }

  private faultAt(line: number, { message }: Error): string {
    return `${this.name}, ${this.unit} ${line}: ${message.replace(/[.?]?$/, (end) => end || '.')}`
  }

  private get unit(): 'line' | 'row' {
    return this.reading.format === 'xlsx' ? 'row' : 'line'
  }

  private async *recordRows(onNote: (text: string) => void): AsyncGenerator<FileRow> {
    const table = await this.openTable(await this.allRecords(), onNote)
    const read = await this.readerOf(table, onNote)
    if (this.doubt !== null) throw new CommandError(`${this.name}: ${this.doubt}`)
    if (table.above > 0 && this.reading.headerLine === null) onNote(this.aboveText(table))
    for await (const { record, footer } of table.rows()) {
      const { json, faults, cells } = read(record)
      const at = `${this.unit} ${record.line}`
      const all = footer === null ? faults : [{ message: footerText(footer) }, ...faults]
      yield { at, json, cells, faults: all.map((fault) => ({ at, ...fault })) }
    }
  }

  private async openTable(records: Records, onNote: (text: string) => void): Promise<Table> {
    const choice = { ...this.reading, onNote }
    const table = await Table.open(records, this.reading, (name) => isColumnName(this.entity, choice, name))
    if (table === null) throw new FileFault(1, 'there must be a header with the names of properties')
    return table
  }

  private aboveText({ above, header }: Table): string {
    const lines = counted(above, this.unit)
    return `${this.name}: the names of the columns are in ${this.unit} ${header.line}, below ${lines} that ${above === 1 ? 'is' : 'are'} not read. Another one: --header`
  }

  private async allRecords(): Promise<Records> {
    return this.reading.format === 'xlsx' ? this.sheetRecords() : csvRecords(this.text())
  }

  /**
   * Returns a function that turns records into rows by the header. If the header is wrong and the file can be read again, the
   * fault also says which options the rows of the file need.
   */
  private async readerOf(table: Table, onNote: (text: string) => void): Promise<(record: CsvRecord) => RecordRow> {
    const { header } = table
    const reading = { ...this.reading, onNote }
    const isLasting = this.reading.format === 'xlsx' || this.isLasting()
    if (!isLasting) return recordReader(this.entity, header, reading)
    // A column with values but no name is a fault, so the rows are read first to find such columns. A sheet can have such columns
    // outside of its table.
    const isNamed = header.plain === undefined && header.cells.every((cell) => (cell ?? '').trim() !== '')
    if (!isNamed) this.survey ??= await this.surveyed(onNote)
    try {
      return recordReader(this.entity, header, reading, this.survey?.unnamed())
    } catch (error) {
      if (!(error instanceof HeaderFault)) throw error
      this.survey ??= await this.surveyed(onNote)
      const hints = this.survey.hints(this.reading)
      if (table.above > 0 && this.reading.headerLine === null) hints.push(this.aboveText(table))
      throw new FileFault(error.line, [error.message, ...hints].join('\n'))
    }
  }

  private async surveyed(onNote: (text: string) => void): Promise<Survey> {
    const table = await this.openTable(await this.allRecords(), onNote)
    const survey = new Survey(table.header)
    let count = 0
    for await (const row of table.rows()) {
      survey.add(row)
      if (++count === SURVEYED_ROWS_MAX) break
    }
    return survey
  }

  /** Returns the rows of the sheet as records. @throws WorkbookFault, CommandError */
  private async sheetRecords(): Promise<readonly CsvRecord[]> {
    if (this.records !== null) return this.records
    const bytes = await this.workbookBytes()
    const sheets = readSheets(openWorkbook(bytes), this.reading.sheet)
    if (sheets.length > 1) throw await this.severalSheets(sheets)
    this.records = recordsOf(sheets[0]?.rows ?? [])
    return this.records
  }

  /**
   * Returns the fault of a workbook with several sheets. It says which options each sheet needs, so that the user can give them
   * at once.
   */
  private async severalSheets(sheets: readonly ReadSheet[]): Promise<WorkbookFault> {
    const lines = [severalText(sheets)]
    for (const { name, rows } of sheets.slice(0, SHEETS_SHOWN)) {
      const file = new RowsFile(this.path, this.entity, this.reading)
      file.records = recordsOf(rows)
      const fault = await file.headerFault()
      if (fault !== null) lines.push(`--sheet ${shellWord(name)}, row ${fault.line}: ${fault.message}`)
    }
    const all = lines.flatMap((text) => text.split('\n'))
    return new WorkbookFault([...new Set(all)].join('\n'))
  }

  /** Returns the fault of the header; null if the header is right. */
  private async headerFault(): Promise<FileFault | null> {
    try {
      const table = await this.openTable(await this.allRecords(), () => undefined)
      await this.readerOf(table, () => undefined)
      return null
    } catch (error) {
      if (error instanceof FileFault) return error
      throw error
    }
  }

  private async workbookBytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let sum = 0
    try {
      for await (const piece of (this.path === '-' ? Bun.stdin : Bun.file(this.path)).stream()) {
        pieces.push(piece)
        sum += piece.length
        // More bytes than the maximum show that the file is too large, so reading stops here.
        if (sum > FILE_BYTES_MAX) break
      }
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
    return Buffer.concat(pieces)
  }

  /** Yields the rows of NDJSON. Related properties, which rows of an export can have, are removed. */
  private async *jsonRows(onNote: (text: string) => void): AsyncGenerator<FileRow> {
    const left = new Set<string>()
    for await (const { line, json } of jsonLines(this.text())) {
      const related = this.relatedIn(json)
      const added = related.filter((name) => !left.has(name))
      if (added.length > 0) onNote(`left out, since ${OF_OTHER_ROWS}: ${added.join(', ')}`)
      for (const name of added) left.add(name)
      yield {
        at: `line ${line}`,
        json: related.length === 0 ? json : withoutMembers(json, related),
        cells: NO_CELLS,
        faults: [],
      }
    }
  }

  /** Returns the names of a row's members that are related properties. */
  private relatedIn(json: string): string[] {
    const row = JSON.parse(json)
    const names = isObject(row) ? Object.keys(row).filter((name) => name.includes('.')) : []
    return names.filter((name) => findRelated(wholeView(this.entity), name) !== undefined)
  }

  private async *text(): AsyncGenerator<string> {
    const decoder = decoderOf(this.encoding ?? 'utf-8')
    const file = this.path === '-' ? Bun.stdin : Bun.file(this.path)
    try {
      let isFirst = true
      for await (const bytes of file.stream()) {
        if (isFirst && isWorkbook(bytes)) throw new Error('it is a workbook: name it .xlsx, or give --format xlsx')
        isFirst = false
        yield decoder.decode(bytes, { stream: true })
      }
      yield decoder.decode()
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
  }

  private unreadable(error: Error): CommandError {
    const encoding = this.encoding ?? 'utf-8'
    const reason = error instanceof TypeError ? `it is not ${encoding.toUpperCase()}; ${OTHER_ENCODING}` : error.message
    return new CommandError(`${this.name} cannot be read: ${reason}`)
  }
}

function doubtText({ word, others }: DoubtfulWord): string {
  const readings = others.map((other) => `--encoding ${other.encoding} reads ${other.word}`)
  return `Name the encoding: ${readings.join(', ')}, --encoding windows-1252 ${word}`
}

const OTHER_ENCODING = 'its encoding is not known: name it by --encoding, or save the file as "CSV UTF-8"'

/** Reads one object from each line that is not blank. @throws FileFault where a line is not JSON */
async function* jsonLines(pieces: AsyncIterable<string>): AsyncGenerator<{ line: number; json: string }, void, undefined> {
  let line = 0
  for await (const text of linesOf(pieces)) {
    line++
    const json = text.trim()
    if (json === '') continue
    try {
      JSON.parse(json)
    } catch (error) {
      throw new FileFault(line, `it is not JSON: ${faultOf(error)}`)
    }
    yield { line, json }
  }
}

/** Writes a number into JSON with all its digits. TypeScript has no type for `rawJSON` yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Returns the JSON of an object without these members; numbers keep all digits. */
function withoutMembers(json: string, names: readonly string[]): string {
  const row = parseJson(json) as Record<string, unknown>
  for (const name of names) delete row[name]
  return JSON.stringify(row, (_, value) => (value instanceof JsonNumber ? rawJSON(value.source) : value))
}

const LINE_END = /(?<=\n|\r(?!\n))/

/**
 * Yields the lines of a text, each with its line break. @throws FileFault for a line that is longer than `lengthMax` characters
 */
async function* linesOf(pieces: AsyncIterable<string>, lengthMax = ROW_LENGTH_MAX): AsyncGenerator<string, void, undefined> {
  let line = 1
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split(LINE_END)
    rest = lines.pop() ?? ''
    line += lines.length
    yield* lines
    if (rest.length > lengthMax) throw new FileFault(line, ROW_TOO_LONG)
  }
  if (rest !== '') yield rest
}

/** Returns the format by the file's extension. @throws CommandError for `-`, and for a path without a known extension */
export function formatOf(path: string): FileFormat {
  if (/\.(?:csv|tsv|txt)$/i.test(path)) return 'csv'
  if (/\.(?:ndjson|jsonl)$/i.test(path)) return 'ndjson'
  if (/\.xls[xm]$/i.test(path)) return 'xlsx'
  if (/\.json$/i.test(path)) throw new CommandError(`make NDJSON of the array: jq -c '.[]' ${path} > rows.ndjson`)
  if (/\.(?:xls|xlsb|ods|numbers)$/i.test(path))
    throw new CommandError(`${path} is of another program or an old one: save it as .xlsx`)
  throw new CommandError(`${nameOf(path)} may be a CSV, NDJSON or .xlsx: say which by --format csv, ndjson or xlsx.`)
}

function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}
