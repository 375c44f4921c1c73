// Opens a file of rows that is in memory: a workbook, or a CSV, whose encoding it finds. For browsers.
import { type CsvRecord, csvRecords } from './csvRecords.ts'
import { decoderOf, EncodingFinder } from './encoding.ts'
import { readSheets } from './sheet.ts'
import { isWorkbook, openWorkbook } from './workbook.ts'

/** A file whose rows have been read. */
export interface OpenedFile {
  /** Sheets that have rows and are not hidden. A CSV is a single sheet without a name. */
  readonly sheets: readonly OpenedSheet[]
  /** Word for a row in messages, before the number that the row has in the file. */
  readonly unit: 'line' | 'row'
  /** Encoding of a CSV; null for a workbook, which itself names its encoding. */
  readonly encoding: string | null
  /** True if the file begins with a byte order mark, as downloads for spreadsheets do. */
  readonly hasMark: boolean
}

interface OpenedSheet {
  readonly name: string
  readonly records: readonly CsvRecord[]
}

/** Thrown for a CSV that no known encoding fits: the user must name its encoding. */
export class UnknownEncoding extends Error {}

/**
 * Opens a file. `encoding`: null to find the encoding. @throws WorkbookFault, FileFault, UnknownEncoding; TypeError for bytes
 * that are not in the encoding
 */
export async function openFile(bytes: Uint8Array, encoding: string | null): Promise<OpenedFile> {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  if (isWorkbook(bytes)) {
    const sheets = readSheets(openWorkbook(bytes), null).map(({ name, rows }) => ({
      name,
      records: rows.map(({ row, ...read }) => ({ line: row, separator: null, ...read })),
    }))
    return { sheets, unit: 'row', encoding: null, hasMark }
  }
  const found = encoding ?? encodingOf(bytes)
  const records = await Array.fromAsync(csvRecords(textOf(bytes, found)))
  return { sheets: records.length === 0 ? [] : [{ name: '', records }], unit: 'line', encoding: found, hasMark }
}

function encodingOf(bytes: Uint8Array): string {
  const finder = new EncodingFinder()
  finder.add(bytes)
  const found = finder.find()
  if (found === null) throw new UnknownEncoding('its encoding is not known')
  return found
}

async function* textOf(bytes: Uint8Array, encoding: string): AsyncGenerator<string> {
  yield decoderOf(encoding).decode(bytes)
}
