// The sheet of a dropped file: where its headers are, what its columns have, and what the reader has chosen for them before.
import type { CsvRecord } from '../../spreadsheets/csvRecords.ts'
import type { NotatedCell } from '../../spreadsheets/foundNotation.ts'
import type { OpenedFile } from '../../spreadsheets/openedFile.ts'
import type { Choice, Chosen, FileColumn } from './importColumns.ts'
import { allProperties, type Resource } from './resources.ts'
import { keepText, readText } from './storage.ts'

/** Rows of which one may have the headers. */
const HEADER_ROWS = 25
/** Share of the columns that a row with headers has at least; titles above have fewer. */
const HEADERS_SHARE = 0.6
const EXAMPLES = 3
/** Cells by which the language of a file is found. */
const NOTATED_CELLS = 5_000

const filled = (record: CsvRecord | undefined) => (record?.cells ?? []).filter((cell) => (cell ?? '').trim() !== '')

/** Returns the index of the record with the headers: the one with most known names, else the first that is nearly the widest. */
export function headerPlace(records: readonly CsvRecord[], choices: readonly Choice[]): number {
  const first = records.slice(0, HEADER_ROWS)
  const names = new Set(choices.flatMap((choice) => choice.names.map((name) => name.toLowerCase())))
  const known = first.map((record) => filled(record).filter((cell) => names.has((cell ?? '').trim().toLowerCase())).length)
  const most = Math.max(0, ...known)
  if (most > 1) return known.indexOf(most)
  const width = Math.max(0, ...first.map((record) => filled(record).length))
  return Math.max(
    0,
    first.findIndex((record) => filled(record).length >= width * HEADERS_SHARE),
  )
}

/** Returns the columns that have a header or values. */
export function headersOf(records: readonly CsvRecord[], place: number): readonly FileColumn[] {
  const rows = records.slice(place + 1)
  const width = Math.max(...[records[place], ...rows.slice(0, 1_000)].map((record) => record?.cells.length ?? 0))
  return Array.from({ length: width }, (_, index) => {
    const examples: string[] = []
    for (const { cells } of rows) {
      const cell = cells[index]?.trim()
      if (cell && !examples.includes(cell)) examples.push(cell)
      if (examples.length === EXAMPLES) break
    }
    const header = records[place]?.cells[index]?.trim() ?? ''
    return { index, header, examples }
  }).filter(({ header, examples }) => header !== '' || examples.length > 0)
}

/** Returns the cells whose form depends on the language of the file. */
export function notatedCells(records: readonly CsvRecord[], chosen: Chosen, choices: readonly Choice[]): readonly NotatedCell[] {
  const columns = [...chosen].flatMap(([index, value]) => {
    const choice = choices.find((one) => one.value === value)
    const kind = choice?.by === null && choice.property.references === null ? choice.property.kind.name : 'text'
    return kind === 'text' || kind === 'oneOf' ? [] : [{ index, kind }]
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

/** True if the file is a download of this page for spreadsheets: all of its headers are names of the API. */
export function isOwnDownload({ hasMark, unit }: OpenedFile, columns: readonly FileColumn[], resource: Resource): boolean {
  const names = new Set(allProperties(resource).map(({ path }) => path.join('.')))
  return (hasMark || unit === 'row') && columns.every(({ header }) => names.has(header))
}

const rememberedKey = (plural: string) => `roster.import.${plural}`
/** Maximum headers that the browser keeps for a collection. */
const REMEMBERED_MAX = 500

/** Returns what the reader has chosen for headers before, by their letters and digits. */
export function rememberedColumns(plural: string): ReadonlyMap<string, string> {
  try {
    const kept = JSON.parse(readText('localStorage', rememberedKey(plural)) ?? '[]')
    return new Map(Array.isArray(kept) ? kept : [])
  } catch {
    // The text is not of this page.
    return new Map()
  }
}

/** Keeps what a header, in letters and digits, means; empty: it is left out. */
export function rememberColumn(plural: string, header: string, value: string): void {
  const kept = new Map(rememberedColumns(plural))
  kept.delete(header)
  kept.set(header, value)
  keepText('localStorage', rememberedKey(plural), JSON.stringify([...kept].slice(-REMEMBERED_MAX)))
}
