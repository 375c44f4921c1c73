// Counts of a table's changes, by which results that were made from its rows are found to be outdated.

let tables = 0

export class TableChanges {
  /** The number of the table among all of this process: a table that is loaded anew has another one. */
  private readonly number = tables++
  /** Rows that have come or gone. */
  private rows = 0
  private readonly ofColumn: Float64Array

  constructor(columns: number) {
    this.ofColumn = new Float64Array(columns)
  }

  noteRow(): void {
    this.rows++
  }

  noteColumn(column: number): void {
    this.ofColumn[column]++
  }

  /** Text that stays the same as long as no row comes or goes, and none has another value in one of these columns. */
  versionOf(columns: readonly number[]): string {
    // Counts never fall, so their sum tells of each change.
    return `${this.number}:${columns.reduce((sum, column) => sum + this.ofColumn[column], this.rows)}`
  }
}
