// Surveys the rows of a file whose header is wrong, and proposes all options that the rows need. The user can then give them all
// at once. Runs in browsers, too.
import { shellWord } from './columns.ts'
import type { CsvRecord } from './csvRecords.ts'
import { type Notation, proposalText, proposeForColumns } from './notation.ts'
import { isPlaceholder, placeholderHint } from './placeholders.ts'
import { footerText, type TableRow } from './table.ts'

/** Maximum number of values that are kept of a column. */
const VALUES_MAX = 1_000
/** Maximum length of a kept value. The survey looks for days and for words that stand for no value; both are short. */
const VALUE_LENGTH_MAX = 40
/** Text that is kept in place of a longer value. */
const LONG_VALUE = '…'

/** Minimum share of days among the values of a column that counts as a column of days. */
const DAYS_SHARE = 0.5

const NAMES_SHOWN = 3

/** Options that were given to the command. */
interface Given {
  readonly notation: Notation | null
  readonly empty: ReadonlySet<string>
}

/** Collects values of the columns of a file. */
export class Survey {
  private readonly columns: string[][]
  /** Number of values by column. There can be more columns than the header has. */
  private readonly counts: number[] = []
  private footerHint: string | null = null

  constructor(private readonly header: CsvRecord) {
    this.columns = header.cells.map(() => [])
  }

  add({ record: { cells, plain, line }, footer }: TableRow): void {
    const unit = plain === undefined ? 'Line' : 'Row'
    if (footer !== null) this.footerHint ??= `${unit} ${line}: ${footerText(footer)}`
    if (footer !== null) return
    for (const [index, cell] of cells.entries()) {
      if (cell === null || cell.trim() === '') continue
      const count = (this.counts[index] ?? 0) + 1
      this.counts[index] = count
      if (count <= VALUES_MAX && plain?.has(index) !== true)
        this.columns[index]?.push(cell.length > VALUE_LENGTH_MAX ? LONG_VALUE : cell)
    }
  }

  /** Returns the indexes of columns that have values but no name. */
  unnamed(): number[] {
    const { cells, plain } = this.header
    // In a CSV, a row that is longer than the header is reported as a fault. In a sheet, cells after the last name are there on
    // purpose, so all columns count.
    const count = plain === undefined ? cells.length : Number.POSITIVE_INFINITY
    return this.counts.flatMap((_, index) => (index < count && (cells[index] ?? '').trim() === '' ? [index] : []))
  }

  /** Returns hints about options to add to the command, as sentences without a full stop. */
  hints({ notation, empty }: Given): string[] {
    const hints: string[] = []
    const columns = this.columns.map((cells, index) => ({
      name: this.nameOf(index),
      cells: cells.filter((cell) => !empty.has(cell.trim())),
    }))
    const days = columns
      .map(({ name, cells }) => ({ name, cells: cells.filter((cell) => !isPlaceholder(cell)) }))
      .filter(({ cells }) => cells.length > 0 && cells.filter(isDay).length >= cells.length * DAYS_SHARE)
    const { proposals, column } = proposeForColumns(days)
    if (column !== null && notation === null)
      hints.push(`Days of ${column.name}: ${proposals.map((one) => proposalText(one, column.cells[0] ?? '')).join(', ')}`)
    const without = columns.filter(({ cells }) => cells.some(isPlaceholder))
    const names = without.slice(0, NAMES_SHOWN).map(({ name }) => name)
    const listed = `${names.join(', ')}${without.length > NAMES_SHOWN ? ' and others' : ''}`
    if (without.length > 0) hints.push(`Cells of ${listed}: ${placeholderHint(without.flatMap(({ cells }) => cells))}`)
    return this.footerHint === null ? hints : [...hints, this.footerHint]
  }

  private nameOf(index: number): string {
    return shellWord(this.header.cells[index] ?? '').replace(/^''$/, `column ${index + 1}`)
  }
}

/** Returns whether a cell seems to be a day that is not written as the API does. */
function isDay(cell: string): boolean {
  return /^\s*(?:\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}|\d{1,2}[ .-]*\p{Letter}{3,}[ .,-]*\d{4}|\p{Letter}{3,} \d{1,2},? \d{4})/u.test(
    cell,
  )
}
