// Finds totals and notes below a table: an import would create a person named Total from such a row. Runs in browsers, too.
import type { CsvRecord } from './csvRecords.ts'

/** Maximum number of rows below a table that are recognized as totals or notes. */
export const FOOTER_ROWS_MAX = 5
/** A row with a single cell counts as a note only if the rows have at least this many cells on average. */
const WIDE_CELLS = 3

/**
 * Matches a sentence, a mark of a note, or a label. A single number or word is no note, because it can be the only cell of a row
 * of the table.
 */
const NOTE = /^[*†(]|\p{Letter}.* .*\p{Letter}|\p{Letter}:/u

/** Matches a word of a total in a language of Europe, at the beginning of a row's first cell. */
const TOTAL =
  /^(?:(?:grand |sub-?)?total\p{Letter}{0,3}|gesamt\p{Letter}{0,5}|summe|insgesamt|totaal|razem|ogółem|łącznie|celkem|spolu|összesen|yhteensä|totalt|toplam|итого|всего|усього|разом|σύνολο)(?!\p{Letter})/iu
/** Matches a first cell that consists only of a word which means a total, such as `Sum`. */
const TOTAL_ALONE =
  /^(?:sum|suma|soma|somme|summa|count|anzahl|aantal|nombre|average|mean|mittelwert|durchschnitt|moyenne|media|średnia)\.?:?$/iu

/** Counts the cells of a table's rows, and tells which of the last rows are totals or notes. */
export class FooterFinder {
  private rows = 0
  private cells = 0

  /** Counts a row of the table itself. */
  add({ cells }: CsvRecord): void {
    this.rows++
    this.cells += filledOf(cells).length
  }

  /**
   * Returns how many of the last rows are totals or notes. `last`: these rows from top to bottom; `add` must have counted all
   * rows before them.
   */
  count(last: readonly CsvRecord[]): number {
    const at = last.findLastIndex((record) => !this.isFooter(record))
    return last.length - 1 - at
  }

  private isFooter({ cells }: CsvRecord): boolean {
    const filled = filledOf(cells)
    const average = this.rows === 0 ? 0 : this.cells / this.rows
    const [first = ''] = filled
    if (filled.length < average && (TOTAL.test(first) || TOTAL_ALONE.test(first))) return true
    return filled.length === 1 && average >= WIDE_CELLS && NOTE.test(first)
  }
}

function filledOf(cells: CsvRecord['cells']): string[] {
  return cells.map((cell) => (cell ?? '').trim()).filter((cell) => cell !== '')
}
