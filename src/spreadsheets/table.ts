// Finds the table in the records of a file: titles and notes may be above and below it. Runs in browsers, too.
import type { CsvRecord } from './csvRecords.ts'
import { FOOTER_ROWS_MAX, FooterFinder } from './footer.ts'
import { HEADER_ROWS_MAX, headerIndex, joinedHeader } from './headerRow.ts'

/** Options that say where the table is in a file. */
export interface TableBounds {
  /**
   * Number of a line or row: the first record that begins there or later is the header. Null: the header is looked for among the
   * first rows.
   */
  readonly headerLine: number | null
  /** Last line or row to read. Null: all are read, and rows at the end that look like totals or notes are reported. */
  readonly lastLine: number | null
}

/** A row of a table. */
export interface TableRow {
  readonly record: CsvRecord
  /** For a row below the table: the last line of the table, and the last line of the file. Null for a row of the table. */
  readonly footer: { readonly tableEnd: number; readonly fileEnd: number } | null
}

/** Returns the message about a row below the table, with the options that leave it out or keep it. */
export function footerText({ tableEnd, fileEnd }: NonNullable<TableRow['footer']>): string {
  return `It seems to be a total or a note below the table: --last ${tableEnd} leaves it out, --last ${fileEnd} keeps it.`
}

type Records = AsyncIterable<CsvRecord> | Iterable<CsvRecord>

/** A table with its header. */
export class Table {
  private constructor(
    readonly header: CsvRecord,
    /** Number of records above the header. */
    readonly above: number,
    private readonly records: AsyncIterable<CsvRecord>,
    private readonly lastLine: number | null,
  ) {}

  /**
   * Reads the header. `isKnown`: returns whether a cell is the name of a property to import. Returns null if there is no header.
   */
  static async open(records: Records, { headerLine, lastLine }: TableBounds, isKnown: (name: string) => boolean) {
    const { first, rest } = await readFirst(records, headerLine === null ? HEADER_ROWS_MAX : 2, headerLine ?? 0)
    const cells = first.map((record) => record.cells)
    const above = headerLine === null ? headerIndex(cells, isKnown) : 0
    const header = first[above]
    if (header === undefined) return null
    const names = joinedHeader(header.cells, cells[above + 1] ?? [])
    const table = joined(first.slice(above + (names === null ? 1 : 2)), rest)
    return new Table(names === null ? header : { ...header, cells: names }, above, table, lastLine)
  }

  /** Yields the rows below the header. It can be called only once. */
  async *rows(): AsyncGenerator<TableRow, void, undefined> {
    const finder = new FooterFinder()
    let last: CsvRecord[] = []
    try {
      for await (const record of this.records) {
        if (this.lastLine !== null && record.line > this.lastLine) break
        last.push(record)
        const [oldest] = last
        if (oldest === undefined || last.length <= FOOTER_ROWS_MAX) continue
        last = last.slice(1)
        finder.add(oldest)
        yield { record: oldest, footer: null }
      }
    } catch (error) {
      for (const record of last) yield { record, footer: null }
      throw error
    }
    yield* this.lastRows(finder, last)
  }

  private *lastRows(finder: FooterFinder, last: readonly CsvRecord[]): Generator<TableRow, void, undefined> {
    // These rows count for the average number of cells, too, because a short table has no rows before them.
    for (const record of last.slice(0, -1)) finder.add(record)
    const own = last.length - (this.lastLine === null ? finder.count(last) : 0)
    const tableEnd = last[own - 1]?.line ?? this.header.line
    const fileEnd = last.at(-1)?.line ?? tableEnd
    for (const [index, record] of last.entries()) yield { record, footer: index < own ? null : { tableEnd, fileEnd } }
  }
}

/**
 * Reads the first `max` records from the line `line` on. If an error follows at least one such record, `rest` throws the error
 * later, so that the caller can use the records before it.
 */
async function readFirst(records: Records, max: number, line: number) {
  const first: CsvRecord[] = []
  const iterator = asynchronous(records)
  let failure: { readonly error: unknown } | null = null
  try {
    while (first.length < max) {
      const { value, done } = await iterator.next()
      if (done) break
      if (value.line >= line) first.push(value)
    }
  } catch (error) {
    if (first.length === 0) throw error
    failure = { error }
  }
  return { first, rest: failure === null ? iterator : failing(failure.error) }
}

async function* asynchronous(records: Records): AsyncGenerator<CsvRecord, void, undefined> {
  yield* records
}

// biome-ignore lint/correctness/useYield: it stands for records of which none can be read.
async function* failing(error: unknown): AsyncGenerator<CsvRecord, void, undefined> {
  throw error
}

async function* joined(first: readonly CsvRecord[], rest: AsyncIterable<CsvRecord>): AsyncGenerator<CsvRecord, void, undefined> {
  yield* first
  yield* rest
}
