// Turns the records of a CSV or a sheet into rows of JSON.
import type { Entity, Property } from '../model/entity.ts'
import { type CellReading, cellConverter, parsedCell } from '../spreadsheets/cells.ts'
import { type CsvRecord, FileFault } from '../spreadsheets/csvRecords.ts'
import type { RowFault } from '../spreadsheets/faults.ts'
import { type ColumnChoice, columnsOf } from './fileColumns.ts'
import { counted } from './output.ts'

/** Options of reading the records of a file. */
export interface RecordReading extends ColumnChoice, CellReading {}

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
