// Order of texts by a column's collation. PostgreSQL compares the texts that it receives, and reads no row.
import type { Entity, Property } from '../model/entity.ts'
import { arrayText, name, param, type Row, type Statement, sql, toStatement } from '../model/sql.ts'

/** Runs statements that change nothing. A `Database` is a `Reader`. */
export interface Reader {
  /** @throws ApiError 500, 503 */
  read(statement: Statement): Promise<Row[]>
}

/** Position of a text among thresholds, which are texts in ascending order. */
export interface TextPosition {
  /** Index of the text in the array that was given. */
  readonly index: number
  /** Number of thresholds that are not greater than the text. */
  readonly threshold: number
}

/**
 * The collation of a property's column. PostgreSQL compares the texts, because the ICU of this process may have another version
 * than that of PostgreSQL.
 */
export class Collation {
  private readonly text: string

  constructor(
    { table }: Entity,
    { column, kind }: Property,
    private readonly reader: Reader,
  ) {
    const texts = param(null)
    const thresholds = param(null)
    // A parameter has no collation of its own, so `coalesce` gives it the collation of the column. The column is never read.
    // UUIDs are ordered by their digits.
    const collated = kind.isText
      ? sql`coalesce("V", (select ${name(column)} from ${name(table)} where false))`
      : sql`("V" collate "C")`
    const position = sql`"N" - 1 || ',' || width_bucket(${collated}, ${thresholds}::text[])`
    const given = sql`unnest(${texts}::text[]) with ordinality as given("V", "N")`
    // One row with all positions takes a tenth of the time on the event loop that one row for each text would take.
    this.text = toStatement(sql`select string_agg(${position}, ',' order by ${collated}) from ${given}`, [texts, thresholds]).text
  }

  /**
   * Returns the positions of texts, in ascending order of the texts. There must be at least one text, and `thresholds` must
   * ascend. @throws ApiError 500, 503
   */
  async positions(texts: readonly string[], thresholds: readonly string[]): Promise<TextPosition[]> {
    const [row] = await this.reader.read({ text: this.text, values: [arrayText(texts), arrayText(thresholds)] })
    const numbers = (row?.[0] ?? '').split(',').map(Number)
    return texts.map((_, index) => ({ index: numbers[2 * index], threshold: numbers[2 * index + 1] }))
  }
}
