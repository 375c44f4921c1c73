// Converts cells of a file to the values that the API takes. Runs in browsers, too.
import { isNotated, KIND_TRAITS, type KindName } from '../model/kindTraits.ts'
import { instantOfSpreadsheet, unescapeFormulas } from '../model/spreadsheet.ts'
import { type CsvRecord, FileFault } from './csvRecords.ts'
import { type Notation, readNotated } from './notation.ts'

/** Facts about a property that the conversion of its cells needs. */
export interface CellProperty {
  /** Path in JSON, by which messages name the property. */
  readonly path: readonly string[]
  readonly kind: { readonly name: KindName }
}

/** Options for the conversion of cells. */
export interface CellReading {
  /** True if `export --excel` wrote the file; null: unknown, so values that only `export --excel` writes are refused. */
  readonly isExcel: boolean | null
  /** Notation of the language of `--locale`. Null: no language is given, and values are expected as programs write them. */
  readonly notation: Notation | null
  /**
   * Properties that are the end of a span, such as the end of an absence. In their columns, a day without a time includes the
   * whole day, so it is read as the last minute of the day.
   */
  readonly ends: ReadonlySet<CellProperty>
  /** Reports that days were read as date-times. */
  onNote(text: string): void
}

/** Returns a function that converts a cell to the notation of the API; the function returns null for a cell without a value. */
export function cellConverter(separator: string | null, { isExcel, notation, ends, onNote }: CellReading) {
  const withDays = new Set<CellProperty>()
  const onDay = (property: CellProperty) => {
    const time = ends.has(property) ? '23:59' : 'midnight'
    if (!withDays.has(property)) onNote(`days of ${property.path.join('.')} are taken for date-times, at ${time} UTC`)
    withDays.add(property)
  }
  return (property: CellProperty, record: CsvRecord, index: number): string | null => {
    const isPlain = record.plain?.has(index) === true
    const given = isPlain ? (record.cells[index] ?? null) : unescapedCell(property, record, index, isExcel)
    if (given === null) return null
    const { name } = property.kind
    const { jsonType, temporal, hasFraction } = KIND_TRAITS[name]
    // A spreadsheet can store a day as midnight of this day. The time is kept for date-times only.
    const cell = isPlain && temporal !== 'instant' ? given.replace(MIDNIGHT, '') : given
    if (jsonType === 'unknown' && cell !== '' && !isJson(cell))
      throw new FileFault(record.line, `${property.path.join('.')} must be JSON, in which texts have quotes`)
    if (!isNotated(name)) return cell
    // Some programs write a boolean of a sheet as a number.
    if (isPlain && jsonType === 'boolean' && /^[01]$/.test(cell)) return String(cell === '1')
    const read = notation === null || isPlain ? null : readNotated(name, cell, notation)
    // A cell that is not in the notation of the language can still be in the notation of the API, such as 2026-09-01.
    const text = read ?? (notation === null || isPlain || jsonType !== 'number' ? cell : refused(cell))
    if (temporal === 'instant' && DAY.test(text)) {
      onDay(property)
      return `${text}T${ends.has(property) ? '23:59' : '00:00'}:00Z`
    }
    if (notation !== null || isPlain || !hasFraction || separator === ',' || record.plain) return text
    if (AMBIGUOUS.test(text)) throw ambiguous(property, record)
    return DECIMAL_COMMA.test(text) ? text.replace(',', '.') : text
  }
}

/**
 * Puts a blank before a number whose point or comma does not fit the language. The server then refuses the number: in a German
 * file, `1.5` may mean another number.
 */
function refused(cell: string): string {
  return /^-?[\d.,]*$/.test(cell) && /[.,]/.test(cell) ? ` ${cell}` : cell
}

const DAY = /^\d{4}-\d\d-\d\d$/
const MIDNIGHT = /T00:00(?::00(?:\.0+)?)?Z$/
const DECIMAL_COMMA = /^-?\d+,\d+$/
/**
 * Matches numbers such as `1.234`: this is 1234 in a notation with decimal commas, and a number with three decimals in a notation
 * with decimal points.
 */
const AMBIGUOUS = /^-?\d{1,3}(?:\.\d{3})+$/

function ambiguous({ path }: CellProperty, { line }: CsvRecord): FileFault {
  const languages = '--locale de reads it as thousands, --locale en as decimals'
  return new FileFault(line, `${path.join('.')} has two meanings: ${languages}`)
}

/** Undoes the escaping of `export --excel`. @throws FileFault for an escaped cell if `isExcel` is null */
function unescapedCell({ kind, path }: CellProperty, { cells, line }: CsvRecord, index: number, isExcel: boolean | null) {
  const cell = cells[index] ?? null
  if (cell === null || isExcel === false) return cell
  const { isEscaped, temporal } = KIND_TRAITS[kind.name]
  const text = isEscaped ? unescapeFormulas(cell) : cell
  const plain = temporal === 'instant' ? (instantOfSpreadsheet(text) ?? text) : text
  if (isExcel || plain === cell) return plain
  const name = path.join('.')
  throw new FileFault(
    line,
    `${name} is as export --excel writes it: give --excel to read it so, or --no-excel to take it as it stands`,
  )
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Writes a number into JSON with all its digits. Old browsers have no `rawJSON`, so they lose digits. TypeScript has no type for
 * `rawJSON` yet.
 */
const { rawJSON = Number } = JSON as unknown as { rawJSON?(text: string): object | number }

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function withNumbersAsWritten(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context ? rawJSON(context.source) : value
}

/**
 * Returns the JSON value of a cell; an empty cell is false for booleans, else null. A wrong value stays a text, which the server
 * refuses.
 */
export function parsedCell({ kind: { name } }: CellProperty, cell: string | null) {
  const { jsonType, hasFraction, emptyIsNoValue } = KIND_TRAITS[name]
  if (cell === null || (cell === '' && !emptyIsNoValue)) return jsonType === 'boolean' ? false : null
  if (jsonType === 'unknown') return JSON.parse(cell, withNumbersAsWritten)
  const lower = cell.toLowerCase()
  if (jsonType === 'boolean' && (lower === 'true' || lower === 'false')) return lower === 'true'
  return jsonType === 'number' && (hasFraction ? DECIMAL : INTEGER).test(cell) ? rawJSON(cell) : cell
}
