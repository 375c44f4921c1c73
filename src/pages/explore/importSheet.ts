// The sheet of a dropped file: its table, its columns with examples, and the choices that the reader made earlier for columns
// with the same headers.
import { isNotated } from '../../model/kinds.ts'
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import type { NotatedCell } from '../../spreadsheets/foundNotation.ts'
import type { OpenedFile } from '../../spreadsheets/openedFile.ts'
import type { Choice, Chosen, FileColumn, Header } from './importColumns.ts'
import { allProperties, type Resource } from './resources.ts'
import { keepText, readText } from './storage.ts'

const EXAMPLES = 3
/** Number of cells that are enough to find the language of a file. */
const NOTATED_CELLS = 5_000

/** Totals and notes below a table. */
export interface Footer {
  readonly count: number
  /** True if the reader wants to import these records as rows. */
  readonly isTaken: boolean
}

/** Returns the records below the header. The footer is included only if the reader takes it. */
export function tableOf(records: readonly CsvRecord[], { body }: Pick<Header, 'body'>, { count, isTaken }: Footer) {
  return records.slice(body, records.length - (isTaken ? 0 : count))
}

/** Returns the columns that have a header or values. */
export function headersOf(headers: CsvRecord['cells'], rows: readonly CsvRecord[]): readonly FileColumn[] {
  const width = Math.max(headers.length, ...rows.slice(0, 1_000).map(({ cells }) => cells.length))
  return Array.from({ length: width }, (_, index) => {
    const examples: string[] = []
    for (const { cells } of rows) {
      const cell = cells[index]?.trim()
      if (cell && !examples.includes(cell)) examples.push(cell)
      if (examples.length === EXAMPLES) break
    }
    const header = (headers[index] ?? '').replace(/\s+/g, ' ').trim()
    return { index, header, examples }
  }).filter(({ header, examples }) => header !== '' || examples.length > 0)
}

/** Returns the cells whose notation depends on the language of the file, such as dates and decimals. */
export function notatedCells(records: readonly CsvRecord[], chosen: Chosen, choices: readonly Choice[]): readonly NotatedCell[] {
  const columns = [...chosen].flatMap(([index, value]) => {
    const choice = choices.find((one) => one.value === value)
    const kind = choice?.by === null && choice.property.references === null ? choice.property.kind.name : 'text'
    return isNotated(kind) ? [{ index, kind }] : []
  })
  const cells: NotatedCell[] = []
  for (const { cells: texts, plain } of records) {
    for (const { index, kind } of columns) {
      const text = texts[index]
      if (text != null && text.trim() !== '' && plain?.has(index) !== true) cells.push({ kind, text })
    }
    if (cells.length > NOTATED_CELLS) break
  }
  return cells
}

/**
 * True if the file is a download of this page for spreadsheets: a workbook, or a CSV with a byte order mark, in which all headers
 * are names of the API.
 */
export function isOwnDownload({ hasMark, unit }: OpenedFile, columns: readonly FileColumn[], resource: Resource): boolean {
  const names = new Set(allProperties(resource).map(({ path }) => path.join('.')))
  return (hasMark || unit === 'row') && columns.every(({ header }) => names.has(header))
}

const rememberedKey = (plural: string) => `roster.import.${plural}`
/** Maximum headers that the browser keeps for a collection. */
const REMEMBERED_MAX = 500

/**
 * Returns the reader's earlier choices by header; headers are reduced to letters and digits. A column whose choice is empty is
 * left out.
 */
export function rememberedColumns(plural: string): ReadonlyMap<string, string> {
  try {
    const kept = JSON.parse(readText('localStorage', rememberedKey(plural)) ?? '[]')
    return new Map(Array.isArray(kept) ? kept : [])
  } catch {
    // The stored text is no JSON.
    return new Map()
  }
}

/**
 * Remembers `value` as the choice for a header. `value` is empty if the column is left out. The caller must have reduced the
 * header to letters and digits.
 */
export function rememberColumn(plural: string, header: string, value: string): void {
  const kept = new Map(rememberedColumns(plural))
  kept.delete(header)
  kept.set(header, value)
  keepText('localStorage', rememberedKey(plural), JSON.stringify([...kept].slice(-REMEMBERED_MAX)))
}
