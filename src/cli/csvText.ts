// Turns the records of a CSV into rows of JSON.
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { suggest } from '../model/nearest.ts'
import { instantOfSpreadsheet, unescapeFormulas } from '../model/spreadsheet.ts'
import { findMember } from '../parse/names.ts'
import { type CsvRecord, FileFault } from './csvRecords.ts'
import { counted } from './output.ts'

/** Options of reading a CSV. */
export interface CsvReading {
  /** True if the file is one of `export --excel`; null: unknown, so values that only such a file has are refused. */
  readonly isExcel: boolean | null
  /** Property that is read although clients do not write it; null: none. */
  readonly matched: Property | null
  /** Called once with each thing that the reader of the report has to know. */
  onNote(text: string): void
}

/**
 * Returns what writes a record below a header as an object of JSON, and throws a FileFault where the number of cells is another.
 * `header`: names as in JSON or in parameters, in any case, with dots for parts. @throws FileFault for an unknown name
 */
export function csvWriter(entity: Entity, header: CsvRecord, { isExcel, matched, onNote }: CsvReading) {
  const columns = withoutEnd(header.cells).map((name, index) => columnOf(entity, header, name ?? '', index))
  const isRead = (property: Property) => property.writable || property === matched
  const cells = columns.flatMap((property, index) => (isRead(property) ? [{ property, index }] : []))
  const { separator } = header
  if (cells.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  const left = columns.filter((property) => !isRead(property)).map(({ path }) => path.join('.'))
  if (left.length > 0) onNote(`left out, since the server makes them: ${left.join(', ')}`)
  const withDays = new Set<Property>()
  const onDay = (property: Property) => {
    if (!withDays.has(property)) onNote(`days of ${property.path.join('.')} are taken for date-times, at midnight UTC`)
    withDays.add(property)
  }
  return (record: CsvRecord): string => {
    const { length } = record.cells
    if (length < columns.length || withoutEnd(record.cells).length > columns.length)
      throw new FileFault(
        record.line,
        `the row has ${counted(length, 'value')}, and the header ${counted(columns.length, 'name')}`,
      )
    const row: Record<string, object> = {}
    for (const { property, index } of cells) {
      const cell = unescapedCell(property, record, index, isExcel)
      if (separator !== ',' && property.kind.name === 'decimal' && AMBIGUOUS.test(cell ?? ''))
        throw new FileFault(
          record.line,
          `${property.path.join('.')} is ${cell}: write it without points, or with a decimal comma`,
        )
      const value = parsedCell(property, cell === null ? null : plainCell(property, cell, separator, onDay))
      const [key = '', part] = property.path
      Object.assign(part === undefined ? row : (row[key] ??= {}), { [part ?? key]: value })
    }
    return JSON.stringify(row)
  }
}

/** Without the empty cells at the end, which spreadsheets write for columns that were cleared. */
function withoutEnd(cells: CsvRecord['cells']): CsvRecord['cells'] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1)
}

/** A cell as it was before `export --excel` escaped it. @throws FileFault for an escaped cell where `isExcel` is null */
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

function columnOf(entity: Entity, { line, cells }: CsvRecord, name: string, index: number): Property {
  if (name.trim() === '') throw new FileFault(line, `column ${index + 1} has no name`)
  const member = findMember(entity, name.trim())
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
/** Thousands, as spreadsheets with decimal commas write them, or three decimal places. */
const AMBIGUOUS = /^-?\d{1,3}(?:\.\d{3})+$/

/** A day as midnight UTC; a number with a decimal comma, where no comma separates cells, with a point. */
function plainCell(property: Property, cell: string, separator: string | null, onDay: (property: Property) => void): string {
  const { name } = property.kind
  if (name === 'instant' && DAY.test(cell)) {
    onDay(property)
    return `${cell}T00:00:00Z`
  }
  return name === 'decimal' && separator !== ',' && DECIMAL_COMMA.test(cell) ? cell.replace(',', '.') : cell
}

const NUMBERS = { integer: /^-?(?:0|[1-9]\d*)$/, decimal: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/ }

/** Numbers of JSON as they are written, which no type of TypeScript has yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }

/** An empty cell is false of a boolean, else null. What fits no type stays text, and the server refuses it. */
function parsedCell({ kind: { name } }: Property, cell: string | null) {
  if (cell === null || (cell === '' && name !== 'text')) return name === 'boolean' ? false : null
  const lower = cell.toLowerCase()
  if (name === 'boolean' && (lower === 'true' || lower === 'false')) return lower === 'true'
  return (name === 'integer' || name === 'decimal') && NUMBERS[name].test(cell) ? rawJSON(cell) : cell
}
