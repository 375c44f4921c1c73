// Reads the rows of a sheet of an .xlsx. Runs in browsers, too.
import { type NumberFormat, numberText, PLAIN_NUMBER, serialText } from './numberFormats.ts'
import { readParts, unescapeControls, type Workbook, WorkbookFault } from './workbook.ts'

/** Maximum number of rows of a sheet that have cells. */
const ROWS_MAX = 200_000
/** Maximum number of columns of a sheet. A sheet with a value in a later column is refused. */
export const COLUMNS_MAX = 1_000
/** Maximum number of cells of a sheet; the format allows 17 billion. */
const CELLS_MAX = 4_000_000

/** A row of a sheet that has cells. */
export interface SheetRow {
  /** Number of the row as the spreadsheet shows it. */
  readonly row: number
  /** Values of the cells; null: the cell has no value. */
  readonly cells: (string | null)[]
  /** Indexes of cells that are not texts in the sheet: numbers, days and booleans have the same notation in all languages. */
  readonly plain: ReadonlySet<number>
  /** Faults of cells that cannot be read, by the index of the cell. A fault matters only if the column of the cell is read. */
  readonly faults: ReadonlyMap<number, CellFault>
}

/** Fault of a cell. */
export interface CellFault {
  /** Text that continues a sentence which begins with the name of the column. */
  readonly message: string
  /** Content of the cell; undefined if it has none. */
  readonly value?: string | undefined
}

/** A sheet with its rows. */
export interface ReadSheet {
  readonly name: string
  readonly rows: readonly SheetRow[]
}

/**
 * Returns the sheet of this name, ignoring case; without a name, the sheets that have rows and are not hidden.
 * @throws WorkbookFault
 */
export function readSheets(workbook: Workbook, name: string | null): ReadSheet[] {
  const { sheets } = workbook
  if (name !== null) {
    const sheet = sheets.find((one) => one.name.toLowerCase() === name.trim().toLowerCase())
    if (!sheet) throw new WorkbookFault(`it has no sheet "${name}"; there are ${namesOf(sheets)}`)
    return [{ name: sheet.name, rows: rowsOf(workbook, sheet.path) }]
  }
  const shown = sheets.filter(({ isHidden }) => !isHidden)
  return shown.map(({ name, path }) => ({ name, rows: rowsOf(workbook, path) })).filter(({ rows }) => rows.length > 0)
}

/**
 * Returns the rows of the sheet of this name; without a name, of the only sheet that has rows and is not hidden.
 * @throws WorkbookFault
 */
export function readSheet(workbook: Workbook, name: string | null): readonly SheetRow[] {
  const [first, ...others] = readSheets(workbook, name)
  if (first && others.length > 0) throw new WorkbookFault(severalText([first, ...others]))
  return first?.rows ?? []
}

/** Returns the message about several sheets of which one must be named. */
export function severalText(sheets: readonly ReadSheet[]): string {
  return `it has several sheets: name one of them by --sheet: ${sheets.map(headOf).join('; ')}`
}

function namesOf(sheets: readonly { readonly name: string }[]): string {
  return sheets.map(({ name }) => JSON.stringify(name)).join(', ')
}

const HEADERS_SHOWN = 8
const HEADER_LENGTH = 30

/** Returns the name of a sheet and the first cells of its first row, by which people recognize the sheet. */
function headOf({ name, rows: [first] }: ReadSheet): string {
  const cells = (first?.cells ?? []).filter((cell) => cell !== null)
  const shown = cells
    .slice(0, HEADERS_SHOWN)
    .map((cell) => cell.split('\n')[0]?.slice(0, HEADER_LENGTH))
    .join(', ')
  return `${JSON.stringify(name)} (${shown}${cells.length > HEADERS_SHOWN ? ', …' : ''})`
}

function rowsOf(workbook: Workbook, path: string): SheetRow[] {
  const xml = workbook.partText(path)
  if (xml === null) throw new WorkbookFault('it is damaged: save it again')
  const reader = new SheetReader(workbook)
  readParts(xml, reader)
  return reader.rows
}

const NO_RESULT = 'is a formula without its value: open the file in a spreadsheet, and save it'

interface OpenCell {
  readonly index: number
  readonly type: string
  readonly style: number
  value: string | null
  isFormula: boolean
}

class SheetReader {
  readonly rows: SheetRow[] = []
  private row = 0
  private cells: (string | null)[] = []
  private plain = new Set<number>()
  private faults = new Map<number, CellFault>()
  private sum = 0
  private next = 0
  private cell: OpenCell | null = null
  private isValue = false
  private isReading = false

  constructor(private readonly workbook: Workbook) {}

  open(name: string, attributes: () => Readonly<Record<string, string>>): void {
    if (name === 'row') this.openRow(attributes())
    else if (name === 'c') this.openCell(attributes())
    else if (name === 'rPh') this.isReading = true
    else if (name === 'f' && this.cell !== null) this.cell.isFormula = true
    this.isValue = name === 'v' || name === 't'
  }

  close(name: string): void {
    if (name === 'c') this.closeCell()
    else if (name === 'row') this.closeRow()
    else if (name === 'rPh') this.isReading = false
    this.isValue = false
  }

  text(text: string): void {
    if (this.isValue && !this.isReading && this.cell !== null) this.cell.value = (this.cell.value ?? '') + text
  }

  private openRow({ r }: Readonly<Record<string, string>>): void {
    this.row = r === undefined ? this.row + 1 : Number(r)
    this.cells = []
    this.plain = new Set()
    this.faults = new Map()
    this.next = 0
  }

  private openCell({ r, t = 'n', s = '0' }: Readonly<Record<string, string>>): void {
    const index = r === undefined ? this.next : columnIndex(r)
    this.next = index + 1
    this.cell = { index, type: t, style: Number(s), value: null, isFormula: false }
  }

  private closeCell(): void {
    const { cell } = this
    this.cell = null
    if (cell === null) return
    const text = this.textOf(cell)
    if (text === null && !this.faults.has(cell.index)) return
    if (cell.index >= COLUMNS_MAX) throw this.fault(`it has more than ${COLUMNS_MAX} columns`)
    if (++this.sum > CELLS_MAX) throw this.fault(`the sheet has more than ${CELLS_MAX} cells: save it as CSV`)
    while (this.cells.length < cell.index) this.cells.push(null)
    this.cells[cell.index] = text
    if (cell.type === 'n' || cell.type === 'b' || cell.type === 'd') this.plain.add(cell.index)
  }

  private closeRow(): void {
    if (this.cells.length === 0) return
    if (this.rows.length >= ROWS_MAX) throw this.fault(`the sheet has more than ${ROWS_MAX} rows: save it as CSV`)
    this.rows.push({ row: this.row, cells: this.cells, plain: this.plain, faults: this.faults })
  }

  private textOf({ index, type, style, value, isFormula }: OpenCell): string | null {
    if (value === null) return isFormula ? this.fail(index, { message: NO_RESULT }) : null
    if (type === 'e') return this.fail(index, { message: 'is the error of a formula', value })
    if (type === 's') return this.workbook.texts[Number(value)] || null
    if (type === 'b') return value.trim() === '1' ? 'true' : 'false'
    const format = this.workbook.formats[style] ?? PLAIN_NUMBER
    if (type === 'd') return isoText(value.trim(), format)
    if (type !== 'n') return unescapeControls(value) || null
    const isTime = typeof format === 'string'
    const text = isTime ? serialText(Number(value), format, this.workbook.is1904) : numberText(value, format)
    return text ?? this.fail(index, { message: `is no ${isTime ? 'day' : 'number'}`, value })
  }

  private fail(index: number, fault: CellFault): null {
    this.faults.set(index, fault)
    return null
  }

  private fault(message: string): WorkbookFault {
    return new WorkbookFault(message, this.row)
  }
}

const MIDNIGHT = /T00:00(?::00(?:\.0+)?)?Z?$/

/**
 * Reads the date-time of a cell of the type `d` as UTC, because the text has no zone. The time of midnight is kept only for the
 * format `dayAndTime`.
 */
function isoText(value: string, format: NumberFormat): string {
  if (format !== 'dayAndTime' && MIDNIGHT.test(value)) return value.replace(MIDNIGHT, '')
  return /T\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(value) ? `${value}Z` : value
}

/** Returns the index of a column by the reference of its cell: 0 for `A5`, 27 for `AB1`. */
function columnIndex(reference: string): number {
  let index = 0
  for (const letter of /^[A-Z]+/i.exec(reference)?.[0].toUpperCase() ?? 'A') index = index * 26 + letter.charCodeAt(0) - 64
  return index - 1
}
