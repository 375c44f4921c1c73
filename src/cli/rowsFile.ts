import { statSync } from 'node:fs'
import { ApiError } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { findRows, RowsText } from '../parse/rowTexts.ts'
import { csvWriter } from './csvRows.ts'
import { CsvFault, csvRecords } from './csvText.ts'
import { CommandError } from './run.ts'

/** A row of a file. */
export interface FileRow {
  /** Of its first character, from 1. */
  readonly line: number
  /** An object of JSON without a line feed, or what else the file has there. */
  readonly json: string
}

export interface RowsFile {
  readonly rows: readonly FileRow[]
  /** Columns that are left out. */
  readonly readOnly: readonly string[]
}

export type FileFormat = 'csv' | 'ndjson'

const BYTES_MAX = 256 * 1024 * 1024

/** All rows of a file, `-` for stdin. @throws CommandError where it cannot be read as what it is */
export async function readRows(path: string, entity: Entity, format: FileFormat): Promise<RowsFile> {
  const text = await textOf(path)
  try {
    return format === 'csv' ? csvRows(text, entity) : { rows: await jsonRows(text), readOnly: [] }
  } catch (error) {
    if (error instanceof ApiError) throw new CommandError(error.message.replace('The body', path))
    if (!(error instanceof CsvFault)) throw error
    throw new CommandError(`${path}, line ${error.line}: ${error.message.replace(/[.?]?$/, (end) => end || '.')}`)
  }
}

/** By the name's end; `-` has none. @throws CommandError */
export function formatOf(path: string): FileFormat {
  if (/\.csv$/i.test(path)) return 'csv'
  if (/\.(?:ndjson|jsonl|json)$/i.test(path)) return 'ndjson'
  throw new CommandError(
    `${path === '-' ? 'stdin' : path} may be a CSV or NDJSON: say which by --format csv or --format ndjson.`,
  )
}

async function textOf(path: string): Promise<string> {
  const file = path === '-' ? Bun.stdin : Bun.file(path)
  try {
    if (path !== '-' && statSync(path).size > BYTES_MAX) throw new Error('it has more than 256 MiB; split it')
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.bytes())
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8; save it as "CSV UTF-8"' : (error as Error).message
    throw new CommandError(`${path} cannot be read: ${reason}`)
  }
}

function csvRows(text: string, entity: Entity): RowsFile {
  const records = csvRecords(text)
  const { value: header } = records.next()
  if (!header) throw new CsvFault(1, 'there must be a header with the names of properties')
  const writer = csvWriter(entity, header)
  const rows: FileRow[] = []
  for (const record of records) rows.push({ line: record.line, json: writer.write(record) })
  return { rows, readOnly: writer.readOnly }
}

/** Of lines, or of one array. */
async function jsonRows(text: string): Promise<FileRow[]> {
  const form = /^\s*\[/.test(text) ? 'array' : 'lines'
  const places = await findRows(new RowsText(text, form), Number.POSITIVE_INFINITY)
  const rows: FileRow[] = []
  let [line, counted] = [1, 0]
  for (let index = 0; index < places.length; index += 2) {
    const whole = text.slice(places[index], places[index + 1])
    const begin = (places[index] as number) + whole.length - whole.trimStart().length
    line += text.slice(counted, begin).split('\n').length - 1
    counted = begin
    // In JSON, a line feed stands between values alone.
    rows.push({ line, json: whole.trim().replace(/[\r\n]+/g, ' ') })
  }
  return rows
}
