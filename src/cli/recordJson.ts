// Turns the records of a CSV or a sheet into rows of JSON.
import type { Entity, Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { instantOfSpreadsheet, unescapeFormulas } from '../model/spreadsheet.ts'
import type { RowFault } from '../spreadsheets/faults.ts'
import { type NotatedKind, type Notation, readNotated } from '../spreadsheets/notation.ts'
import { type CsvRecord, FileFault } from './csvRecords.ts'
import { type ColumnChoice, columnsOf } from './fileColumns.ts'
import { counted } from './output.ts'

/** Options of reading the records of a file. */
export interface RecordReading extends ColumnChoice {
  /** True if `export --excel` wrote the file; null: unknown, so values that only such a file has are refused. */
  readonly isExcel: boolean | null
  /** How the language of `--locale` writes values; null: as programs do. */
  readonly notation: Notation | null
}

/** A record as a row of JSON. */
export interface RecordRow {
  readonly json: string
  /** Faults without the row's position. */
  readonly faults: readonly Omit<RowFault, 'at'>[]
  /** Cells as the file has them, by the properties that they set. */
  readonly cells: ReadonlyMap<Property, string>
}

/**
 * Returns a function that makes a row of a record. It throws FileFault if the record has another number of cells.
 * `header`: names of properties in any case, in words, or mapped. @throws FileFault for an unknown name
 */
export function recordReader(entity: Entity, header: CsvRecord, reading: RecordReading): (record: CsvRecord) => RecordRow {
  const names = withoutEnd(header.cells)
  const columns = columnsOf(entity, { ...header, cells: names }, reading)
  const convert = cellConverter(header.separator, reading)
  const unnamed = names.flatMap((name, index) => (name === null || name.trim() === '' ? [index] : []))
  return (record) => {
    requireLength(record, names.length)
    const value = unnamed.find((index) => (record.cells[index] ?? '').trim() !== '')
    if (value !== undefined) throw new FileFault(record.line, `column ${value + 1} has a value, and no name in the header`)
    const row: Record<string, object> = {}
    const faults: Omit<RowFault, 'at'>[] = []
    const cells = new Map<Property, string>()
    for (const { property, lookup, index } of columns) {
      const cell = record.cells[index] ?? null
      if (cell !== null) cells.set(property, cell)
      const unread = record.faults?.get(index)
      if (unread !== undefined) faults.push({ message: `${property.name} ${unread.message}.`, value: unread.value })
      const found = lookup?.find(cell)
      if (found?.fault) faults.push({ message: found.fault, value: cell ?? '' })
      const value = found ? parsedCell(property, found.id) : parsedCell(property, convert(property, record, index))
      const [key = '', part] = property.path
      Object.assign(part === undefined ? row : (row[key] ??= {}), { [part ?? key]: value })
    }
    return { json: JSON.stringify(row), faults, cells }
  }
}

function requireLength({ cells, line, plain }: CsvRecord, columns: number): void {
  // A sheet has no empty cells at the end of a row.
  if ((cells.length >= columns || plain !== undefined) && withoutEnd(cells).length <= columns) return
  throw new FileFault(line, `the row has ${counted(cells.length, 'value')}, and the header ${counted(columns, 'name')}`)
}

/** Removes empty cells at the end: spreadsheets write them for columns that were cleared. */
function withoutEnd(cells: CsvRecord['cells']): CsvRecord['cells'] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1)
}

/** Returns a function that converts a cell to the notation of the API; null: no value. */
function cellConverter(separator: string | null, { isExcel, notation, onNote }: RecordReading) {
  const withDays = new Set<Property>()
  const onDay = (property: Property) => {
    if (!withDays.has(property)) onNote(`days of ${property.path.join('.')} are taken for date-times, at midnight UTC`)
    withDays.add(property)
  }
  return (property: Property, record: CsvRecord, index: number): string | null => {
    const isPlain = record.plain?.has(index) === true
    const cell = isPlain ? (record.cells[index] ?? null) : unescapedCell(property, record, index, isExcel)
    if (cell === null) return null
    const kind = notatedKind(property)
    if (kind === null) return cell
    // Some programs write a boolean of a sheet as a number.
    if (isPlain && kind === 'boolean' && /^[01]$/.test(cell)) return String(cell === '1')
    const read = notation === null || isPlain ? null : readNotated(kind, cell, notation)
    // What a language does not read, and is in the notation of the API all the same, such as 2026-09-01.
    const text = read ?? (notation === null || isPlain || !isNumber(kind) ? cell : refused(cell))
    if (kind === 'instant' && DAY.test(text)) {
      onDay(property)
      return `${text}T00:00:00Z`
    }
    if (notation !== null || isPlain || kind !== 'decimal' || separator === ',' || record.plain) return text
    if (AMBIGUOUS.test(text)) throw ambiguous(property, record, text)
    return DECIMAL_COMMA.test(text) ? text.replace(',', '.') : text
  }
}

function notatedKind({ kind: { name } }: Property): NotatedKind | null {
  return isText(name) ? null : (name as NotatedKind)
}

function isNumber(kind: NotatedKind): boolean {
  return kind === 'integer' || kind === 'decimal'
}

/** Marks a number that the language does not write so: `1.5` in German, which the API would take for another number. */
function refused(cell: string): string {
  return /^-?[\d.,]*$/.test(cell) && /[.,]/.test(cell) ? ` ${cell}` : cell
}

const DAY = /^\d{4}-\d\d-\d\d$/
const DECIMAL_COMMA = /^-?\d+,\d+$/
/** Matches numbers such as `1.234`: a thousand in spreadsheets with decimal commas, or three decimal places. */
const AMBIGUOUS = /^-?\d{1,3}(?:\.\d{3})+$/

function ambiguous({ path }: Property, { line }: CsvRecord, cell: string): FileFault {
  const languages = '--locale de reads it as thousands, --locale en as decimals'
  return new FileFault(line, `${path.join('.')} is ${cell}: write it without points, or with a decimal comma; ${languages}`)
}

/** Undoes the escaping of `export --excel`. @throws FileFault for an escaped cell if `isExcel` is null */
function unescapedCell({ kind, path }: Property, { cells, line }: CsvRecord, index: number, isExcel: boolean | null) {
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

const NUMBERS = { integer: /^-?(?:0|[1-9]\d*)$/, decimal: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/ }

/** Writes a number into JSON with all its digits. TypeScript has no type for it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** Returns a cell as JSON; an empty one is false for booleans, else null. Wrong values stay texts, which the server refuses. */
function parsedCell({ kind: { name } }: Property, cell: string | null) {
  if (cell === null || (cell === '' && name !== 'text')) return name === 'boolean' ? false : null
  const lower = cell.toLowerCase()
  if (name === 'boolean' && (lower === 'true' || lower === 'false')) return lower === 'true'
  return (name === 'integer' || name === 'decimal') && NUMBERS[name].test(cell) ? rawJSON(cell) : cell
}
