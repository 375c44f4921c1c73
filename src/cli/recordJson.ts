// Turns the records of a CSV into rows of JSON.
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { haveOf } from '../model/names.ts'
import { suggest } from '../model/nearest.ts'
import { instantOfSpreadsheet, unescapeFormulas } from '../model/spreadsheet.ts'
import { wholeView } from '../model/view.ts'
import { findMember } from '../parse/names.ts'
import { faultOfPath, findRelated } from '../parse/paths.ts'
import { type CsvRecord, FileFault } from './csvRecords.ts'
import { counted } from './output.ts'

/** Options of reading a CSV. */
export interface CsvReading {
  /** True if `export --excel` wrote the file; null: unknown, so values that only such a file has are refused. */
  readonly isExcel: boolean | null
  /** Property of `--match`, which is read even if clients cannot write it; null: no `--match`. */
  readonly matched: Property | null
  /** Reports what people have to know, once each: columns left out, days taken for date-times. */
  onNote(text: string): void
}

/** Why columns with a path are not imported. */
export const OF_OTHER_ROWS = 'they are properties of other rows'

/**
 * Returns a function that writes a record as a JSON object. It throws FileFault if the record has another number of cells.
 * `header`: property names in any case, with dots before parts of objects. @throws FileFault for an unknown name
 */
export function csvWriter(entity: Entity, header: CsvRecord, { isExcel, matched, onNote }: CsvReading) {
  const columns = withoutEnd(header.cells).map((name, index) => columnOf(entity, header, name ?? '', index))
  const isRead = (property: Property) => property.writable || property === matched
  const cells = columns.flatMap((property, index) => (isRead(property) ? [{ property, index }] : []))
  const { separator } = header
  if (cells.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  const left = columns.filter((property) => !isRead(property))
  for (const [reason, of] of [
    ['the server makes them', left.filter(({ related }) => related === null)],
    [OF_OTHER_ROWS, left.filter(({ related }) => related !== null)],
  ] as const)
    if (of.length > 0) onNote(`left out, since ${reason}: ${of.map(({ path }) => path.join('.')).join(', ')}`)
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

/** Removes empty cells at the end: spreadsheets write them for columns that were cleared. */
function withoutEnd(cells: CsvRecord['cells']): CsvRecord['cells'] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1)
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

function columnOf(entity: Entity, { line, cells }: CsvRecord, name: string, index: number): Property {
  if (name.trim() === '') throw new FileFault(line, `column ${index + 1} has no name`)
  const member = findMember(entity, name.trim()) ?? findRelated(wholeView(entity), name.trim())
  if (!member) {
    const known = entity.properties.map(({ path }) => path.join('.'))
    const hint = faultOfPath(wholeView(entity), name.trim()) ?? suggest(name, known)
    throw new FileFault(line, `${entity.plural} ${haveOf(entity)} no property "${name}".${hint}`)
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
/** Matches numbers such as `1.234`: a thousand in spreadsheets with decimal commas, or three decimal places. */
const AMBIGUOUS = /^-?\d{1,3}(?:\.\d{3})+$/

/** Turns a day into midnight UTC, and a decimal comma into a point unless commas separate cells. */
function plainCell(property: Property, cell: string, separator: string | null, onDay: (property: Property) => void): string {
  const { name } = property.kind
  if (name === 'instant' && DAY.test(cell)) {
    onDay(property)
    return `${cell}T00:00:00Z`
  }
  return name === 'decimal' && separator !== ',' && DECIMAL_COMMA.test(cell) ? cell.replace(',', '.') : cell
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
