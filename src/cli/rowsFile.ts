// Reads a CSV or NDJSON file for `roster import`, as rows of JSON with their lines.
import { statSync } from 'node:fs'
import { errorOf } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { JsonNumber } from '../model/kinds.ts'
import { wholeView } from '../model/view.ts'
import { faultOf, isObject, parseJson } from '../parse/body.ts'
import { findRelated } from '../parse/paths.ts'
import { type CsvRecord, csvRecords, FileFault, ROW_LENGTH_MAX, ROW_TOO_LONG } from './csvRecords.ts'
import { type CsvReading, csvWriter, OF_OTHER_ROWS } from './csvText.ts'
import { CommandError } from './run.ts'

/** A row of a file. */
export interface FileRow {
  /** Position in the file as messages say it: `line 3`. */
  readonly at: string
  /** JSON without a line feed. */
  readonly json: string
}

/** A file of rows, read piece by piece, so that it may have any length. */
export class RowsFile {
  /** Name of the file in messages. */
  readonly name: string

  /** `path`: `-` for stdin. */
  constructor(
    private readonly path: string,
    private readonly entity: Entity,
    private readonly format: 'csv' | 'ndjson',
    private readonly reading: Pick<CsvReading, 'isExcel' | 'matched'>,
  ) {
    this.name = nameOf(path)
  }

  /** True if the file can be read twice; stdin and pipes cannot. @throws CommandError if there is no such file */
  isLasting(): boolean {
    if (this.path === '-') return false
    try {
      return statSync(this.path).isFile()
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
  }

  /** Yields the rows. `onNote`: called for columns left out, and for days taken as date-times. @throws CommandError for faults */
  async *rows(onNote: (text: string) => void = () => undefined): AsyncGenerator<FileRow> {
    try {
      yield* this.format === 'csv' ? this.csvRows(onNote) : this.jsonRows(onNote)
    } catch (error) {
      if (!(error instanceof FileFault)) throw error
      throw new CommandError(`${this.name}, line ${error.line}: ${error.message.replace(/[.?]?$/, (end) => end || '.')}`)
    }
  }

  private async *csvRows(onNote: (text: string) => void): AsyncGenerator<FileRow> {
    let write: ((record: CsvRecord) => string) | null = null
    for await (const record of csvRecords(this.text())) {
      if (write !== null) yield { at: `line ${record.line}`, json: write(record) }
      else write = csvWriter(this.entity, record, { ...this.reading, onNote })
    }
    if (write === null) throw new FileFault(1, 'there must be a header with the names of properties')
  }

  /** Yields the rows of NDJSON without the properties of other rows, which an export may have. */
  private async *jsonRows(onNote: (text: string) => void): AsyncGenerator<FileRow> {
    const left = new Set<string>()
    for await (const row of jsonRows(this.text())) {
      const related = this.relatedIn(row.json)
      const added = related.filter((name) => !left.has(name))
      if (added.length > 0) onNote(`left out, since ${OF_OTHER_ROWS}: ${added.join(', ')}`)
      for (const name of added) left.add(name)
      yield related.length === 0 ? row : { ...row, json: withoutMembers(row.json, related) }
    }
  }

  /** Returns the members of a row that are properties of other rows. */
  private relatedIn(json: string): string[] {
    const row = JSON.parse(json)
    const names = isObject(row) ? Object.keys(row).filter((name) => name.includes('.')) : []
    return names.filter((name) => findRelated(wholeView(this.entity), name) !== undefined)
  }

  private async *text(): AsyncGenerator<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    const file = this.path === '-' ? Bun.stdin : Bun.file(this.path)
    try {
      for await (const bytes of file.stream()) yield decoder.decode(bytes, { stream: true })
      yield decoder.decode()
    } catch (error) {
      throw this.unreadable(errorOf(error))
    }
  }

  private unreadable(error: Error): CommandError {
    const reason = error instanceof TypeError ? 'it is not UTF-8; save it as "CSV UTF-8"' : error.message
    return new CommandError(`${this.name} cannot be read: ${reason}`)
  }
}

/** Reads one object from each line that is not blank. @throws FileFault where a line is not JSON */
async function* jsonRows(pieces: AsyncIterable<string>): AsyncGenerator<FileRow, void, undefined> {
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
    yield { at: `line ${line}`, json }
  }
}

/** Writes a number into JSON with all its digits. TypeScript has no type for it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Returns the object without these members; numbers keep all digits. */
function withoutMembers(json: string, names: readonly string[]): string {
  const row = parseJson(json) as Record<string, unknown>
  for (const name of names) delete row[name]
  return JSON.stringify(row, (_, value) => (value instanceof JsonNumber ? rawJSON(value.source) : value))
}

const LINE_END = /(?<=\n|\r(?!\n))/

/** Yields lines with their ends. @throws FileFault for one that is longer than a row may be */
async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let line = 1
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split(LINE_END)
    rest = lines.pop() ?? ''
    line += lines.length
    yield* lines
    if (rest.length > ROW_LENGTH_MAX) throw new FileFault(line, ROW_TOO_LONG)
  }
  if (rest !== '') yield rest
}

/** Returns the format by the file's extension. @throws CommandError if it has none, as `-` */
export function formatOf(path: string): 'csv' | 'ndjson' {
  if (/\.csv$/i.test(path)) return 'csv'
  if (/\.(?:ndjson|jsonl)$/i.test(path)) return 'ndjson'
  if (/\.json$/i.test(path)) throw new CommandError(`make NDJSON of the array: jq -c '.[]' ${path} > rows.ndjson`)
  throw new CommandError(`${nameOf(path)} may be a CSV or NDJSON: say which by --format csv or ndjson.`)
}

function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}
