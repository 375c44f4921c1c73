// Turns the records of a dropped file into rows that can be sent, or says what is wrong with them.
import type { NotatedName } from '../../model/kindTraits.ts'
import { nearestOf } from '../../model/nearest.ts'
import { type CellReading, cellConverter, parsedCell } from '../../spreadsheets/cells.ts'
import { type CsvRecord, FileFault } from '../../spreadsheets/csvRecords.ts'
import type { RowFault } from '../../spreadsheets/faults.ts'
import type { Notation } from '../../spreadsheets/notation.ts'
import { isPlaceholder } from '../../spreadsheets/placeholders.ts'
import type { ReferenceValues } from '../../spreadsheets/referenceValues.ts'
import type { Choice } from './importColumns.ts'
import { type ImportProperty, textOfJson } from './importTarget.ts'

/** A cell of the file, read as the value of a property. */
export interface ImportValue {
  readonly property: ImportProperty
  /** JSON of the value, with all digits. */
  readonly json: string
  /** Text that is the same for equal values; null: no value. */
  readonly text: string | null
  /** The cell as the file has it. */
  readonly cell: string
  /**
   * True if the cell has a value by which a referenced row is found, such as its name; false if the cell has the value of the
   * property itself.
   */
  readonly isName: boolean
}

/** A row of the file. */
export interface ImportRow {
  /** Position of the row in the file: `line 12`, `row 12`. */
  readonly at: string
  readonly values: readonly ImportValue[]
}

/** Settings by which the file is read. */
export interface RowReading {
  readonly unit: 'line' | 'row'
  readonly notation: Notation | null
  /** True if the file is a download of this page for spreadsheets. */
  readonly isExcel: boolean
  /** Choices for the columns, by the index of the column. */
  readonly choices: ReadonlyMap<number, Choice>
  /**
   * Rows to which cells refer. Key: name of the reference. Value: the rows, by the values of the cells. A reference has no entry
   * while its rows have not been read.
   */
  readonly references: ReadonlyMap<string, ReferenceValues>
}

/** A fault of a row of the file. */
export interface ImportFault extends RowFault {
  /** Name of the property whose value is wrong; undefined: the fault is not about one value. */
  readonly name?: string
}

interface ReadRows {
  readonly rows: readonly ImportRow[]
  readonly faults: readonly ImportFault[]
}

/** Converts the records below the header. Empty records, and records with a fault, do not become rows. */
export function readRows(records: readonly CsvRecord[], reading: RowReading): ReadRows {
  const faults: ImportFault[] = []
  const convert = cellConverter(records[0]?.separator ?? null, cellReading(reading))
  const rows = records.flatMap((record) => {
    const at = `${reading.unit} ${record.line}`
    const values: ImportValue[] = []
    let isRight = true
    for (const [index, choice] of reading.choices) {
      const read = readCell(record, index, choice, reading, convert)
      if ('json' in read) values.push(read)
      else {
        faults.push({ at, name: choice.property.name, ...read })
        isRight = false
      }
    }
    // A record is empty if none of its values is set: it may have only a remark, in a column that is left out. A boolean without
    // a value is read as false, so false does not count as a value.
    const isEmpty = values.every(({ text }) => text === null || text === 'false')
    return isRight && !isEmpty ? [{ at, values }] : []
  })
  return { rows, faults }
}

function cellReading({ notation, isExcel, choices }: RowReading): CellReading {
  const ends = [...choices.values()].map(({ property }) => property).filter(({ isEnd }) => isEnd)
  return { notation, isExcel, ends: new Set(ends), onNote: () => undefined }
}

type CellFault = Omit<RowFault, 'at'>

function readCell(
  record: CsvRecord,
  index: number,
  { property, by, byWords }: Choice,
  { references, notation, isExcel }: RowReading,
  convert: ReturnType<typeof cellConverter>,
): ImportValue | CellFault {
  const given = record.cells[index] ?? ''
  // A placeholder such as N/A means no value for a property that is a number, a day or a reference. For a text it is the value.
  const isEmpty = isPlaceholder(given) && (property.references !== null || !/text|oneOf/.test(property.kind.name))
  const cell = isEmpty ? '' : given
  const unread = record.faults?.get(index)
  if (unread) return { message: `${property.label} ${unread.message}.`, value: unread.value }
  if (by !== null) return readReference(property, byWords, cell.trim(), references.get(property.name) ?? null)
  try {
    const read = isEmpty ? null : convert(property, record, index)
    // Blanks around a value are taken for typing errors. In a download of this page they are kept, because stored values can
    // begin or end with blanks.
    const text = (isExcel ? read : read?.trim()) || null
    const json = JSON.stringify(parsedCell(property, text))
    const message = faultOf(property, json, text ?? '', notation)
    if (message !== null) return { message, value: cell }
    return { property, json, text: textOfJson(property, json), cell, isName: false }
  } catch (error) {
    if (!(error instanceof FileFault)) throw error
    return { message: `${property.label} can be read in two ways: choose the language of the file above.`, value: cell }
  }
}

const OTHER_ROW = 'Correct it in the file, or create it first.'
const OWN_ROW =
  'If it is a row of this file, import the file without this column first, and then again with it: rows that are there are found.'

function readReference(
  property: ImportProperty,
  by: string,
  cell: string,
  values: ReferenceValues | null,
): ImportValue | CellFault {
  if (cell === '' || values === null) {
    const message = cell === '' && property.isRequired ? `${property.label} is needed.` : null
    return message === null ? { property, json: 'null', text: null, cell, isName: true } : { message }
  }
  const ids = values.idsOf(cell)
  const [id, second] = ids
  if (id !== undefined && second === undefined) return { property, json: id, text: id, cell, isName: true }
  if (second !== undefined)
    return {
      message: `${property.label}: ${ids.length} have this ${by}. Give another value that only one has, or the id.`,
      value: cell,
    }
  const nearest = values.nearestTo(cell)
  const hints = [...(nearest === null ? [] : [`Is “${nearest}” meant?`]), ...(property.isToItself ? [OWN_ROW] : [])]
  return { message: `${property.label}: none has the ${by} “${cell}”. ${hints.join(' ') || OTHER_ROW}` }
}

const isText = (json: string) => json.startsWith('"')

/** Returns a message for people about a value that the server would refuse. Returns null if it finds no fault. */
function faultOf(property: ImportProperty, json: string, text: string, notation: Notation | null): string | null {
  const { kind, label, isRequired, isListed, values, lengthMax } = property
  if (json === 'null' || json === '""') return isRequired ? `${label} is needed.` : null
  if (kind.name === 'boolean') return isText(json) ? `${label} is neither yes nor no.` : null
  if (kind.name === 'integer' || property.references !== null) return isText(json) ? `${label} is no whole number.` : null
  if (kind.name === 'decimal') return isText(json) ? `${label} is no number.` : null
  if (kind.name === 'date' || kind.name === 'instant') return isTime(kind.name, text) ? null : dayFault(label, text, notation)
  if (isListed && !values.includes(text)) {
    const nearest = nearestOf(text, values)
    return `${label} must be one of ${values.join(', ')}.${nearest === null ? '' : ` Is ${nearest} meant?`}`
  }
  const length = [...text].length
  return lengthMax !== null && length > lengthMax ? `${label} may have ${lengthMax} characters: shorten it.` : null
}

function isTime(kind: NotatedName, text: string): boolean {
  const pattern = kind === 'date' ? /^\d{4}-\d\d-\d\d$/ : /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/
  return pattern.test(text) && !Number.isNaN(Date.parse(text))
}

function dayFault(label: string, text: string, notation: Notation | null): string {
  if (/^\d{1,2}[./-] ?\d{1,2}[./-] ?\d\d$/.test(text)) return `${label}: write years with four digits.`
  return notation === null
    ? `${label} is no day such as 2026-09-01. If the file writes days in another way, choose its language above.`
    : `${label} is no day of the calendar, or not written in the language that is chosen above.`
}
