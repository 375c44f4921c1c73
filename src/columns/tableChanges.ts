// Counts the changes of a table. A result that was computed from the table's rows is outdated if the counts have changed since.

let tables = 0

export class TableChanges {
  /** Number of the table, unique in this process. A table that is loaded again gets a new number. */
  private readonly number = tables++
  /** Number of rows that were added or removed. */
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

  /** Returns a text that stays the same until a row is added or removed, or a value in one of these columns changes. */
  versionOf(columns: readonly number[]): string {
    // Counts never fall, so each change gives a new sum.
    return `${this.number}:${columns.reduce((sum, column) => sum + this.ofColumn[column], this.rows)}`
  }
}
