// Turns the records of a CSV or a sheet into rows of JSON.
import type { Entity, Property } from '../model/entity.ts'
import { type CellReading, cellConverter, parsedCell } from '../spreadsheets/cells.ts'
import { ALL_OTHERS, mappedColumn } from '../spreadsheets/columns.ts'
import { type CsvRecord, FileFault } from '../spreadsheets/csvRecords.ts'
import type { RowFault } from '../spreadsheets/faults.ts'
import { type ColumnChoice, columnsOf, type FileColumn, unnamedText } from './fileColumns.ts'
import { counted } from './output.ts'

/** Options for reading the records of a file. */
export interface RecordReading extends ColumnChoice, Omit<CellReading, 'ends'> {
  /** Cells that stand for no value, such as `N/A`. */
  readonly empty: ReadonlySet<string>
}

/** A record as a row of JSON. */
export interface RecordRow {
  readonly json: string
  /** Faults without the row's position. */
  readonly faults: readonly Omit<RowFault, 'at'>[]
  /** Cells as the file has them, by the properties that they set. */
  readonly cells: ReadonlyMap<Property, string>
}

type CellFaults = Omit<RowFault, 'at'>[]

/**
 * Returns a function that turns a record into a row. `header`: names of properties in upper or lower case, words of `/explore`
 * for properties, or names that the mapping knows. `unnamed`: indexes of columns that have values but no name. @throws FileFault
 * for a wrong header
 */
export function recordReader(
  entity: Entity,
  header: CsvRecord,
  reading: RecordReading,
  unnamed: readonly number[] = [],
): (record: CsvRecord) => RecordRow {
  const names = withoutEnd(header.cells)
  const columns = columnsOf(entity, { ...header, cells: names }, reading, unnamed)
  const convert = cellConverter(header.separator, { ...reading, ends: endsOf(entity) })
  const { mapping } = reading
  const isFree = (index: number) => (names[index] ?? '').trim() === '' && mappedColumn(mapping, names, index) === undefined
  return (record) => {
    const faults: CellFaults = []
    addFormFaults(record, names.length, mapping.has(ALL_OTHERS) ? () => false : isFree, faults)
    const row: Record<string, object> = {}
    const cells = new Map<Property, string>()
    for (const column of columns) {
      const { property, index } = column
      const cell = record.cells[index] ?? null
      const unread = record.faults?.get(index)
      if (unread !== undefined) faults.push({ message: `${property.name} ${unread.message}.`, value: unread.value })
      const isEmpty = cell === null || reading.empty.has(cell.trim())
      if (!isEmpty) cells.set(property, cell)
      const value = isEmpty ? parsedCell(property, null) : cellValue(column, record, cell, convert, faults)
      const [key = '', part] = property.path
      Object.assign(part === undefined ? row : (row[key] ??= {}), { [part ?? key]: value })
    }
    if (cells.size === 0 && isOfOthers(record, reading, names)) faults.push({ message: ONLY_OTHERS })
    return { json: JSON.stringify(row), faults, cells }
  }
}

/** Returns the properties that end a span: each is the `later` property of a rule, and not the `earlier` property of any rule. */
function endsOf({ rules }: Entity): ReadonlySet<Property> {
  const beginnings = new Set(rules.map(({ earlier }) => earlier))
  return new Set(rules.map(({ later }) => later).filter((property) => !beginnings.has(property)))
}

/** Returns the value of a cell as JSON. If the cell is faulty, adds the fault and returns null. */
function cellValue(
  { property, lookup, index }: FileColumn,
  record: CsvRecord,
  cell: string,
  convert: ReturnType<typeof cellConverter>,
  faults: CellFaults,
) {
  if (lookup !== null) {
    const { id, fault } = lookup.find(cell)
    if (fault) faults.push({ message: fault, value: cell })
    return parsedCell(property, id)
  }
  try {
    return parsedCell(property, convert(property, record, index))
  } catch (error) {
    if (!(error instanceof FileFault)) throw error
    faults.push({ message: `${error.message}.`, value: cell })
    return null
  }
}

/**
 * Adds the faults of a row's form, such as too many cells. `isFree`: returns whether a column has neither a name nor a mapping.
 */
function addFormFaults(record: CsvRecord, columns: number, isFree: (index: number) => boolean, faults: CellFaults): void {
  const { cells, plain } = record
  const nameless = cells.flatMap((cell, index) => ((cell ?? '').trim() !== '' && isFree(index) ? [index] : []))
  const [first] = nameless
  // A row of a sheet can be shorter than the header, because it has no empty cells at its end.
  if ((cells.length < columns && plain === undefined) || nameless.some((index) => index >= columns && plain === undefined))
    faults.push({ message: `The row has ${counted(cells.length, 'value')}, and the header ${counted(columns, 'name')}.` })
  else if (first !== undefined) faults.push({ message: `${unnamedText([first])}.`, value: cells[first] ?? '' })
}

const ONLY_OTHERS = 'The row has values only in columns that are left out: it would be empty.'

/** Returns whether a row has a value in a column that the command leaves out. */
function isOfOthers({ cells }: CsvRecord, { mapping }: RecordReading, names: CsvRecord['cells']): boolean {
  const isLeft = (index: number) => mappedColumn(mapping, names, index) === null || mapping.has(ALL_OTHERS)
  return cells.some((cell, index) => (cell ?? '').trim() !== '' && isLeft(index))
}

/** Removes empty cells at the end: spreadsheets write them for columns that were cleared. */
function withoutEnd(cells: CsvRecord['cells']): CsvRecord['cells'] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== null) + 1)
}
