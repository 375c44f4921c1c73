// Order of texts by a column's collation: PostgreSQL compares texts that it is sent, and reads no row.
import type { Entity, Property } from '../model/entity.ts'
import { arrayText, name, param, type Row, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'

/** Runs statements that change nothing; a `Database` is one. */
export interface Reader {
  /** @throws ApiError 500, 503 */
  read(statement: Statement): Promise<Row[]>
}

/** The collation of a property's column. PostgreSQL compares, because ICU here may be of another version than its own. */
export class Collation {
  private readonly ordering: string
  private readonly placing: string

  constructor(
    { table }: Entity,
    { column }: Property,
    private readonly reader: Reader,
  ) {
    const [texts, thresholds] = [param(null), param(null)]
    const given = sql`unnest(${texts}::text[]) with ordinality as given("V", "N")`
    // A parameter has no collation of its own, so beside the column it gets the column's. The column is never read.
    const collated = sql`coalesce("V", (select ${name(column)} from ${name(table)} where false))`
    const inOneRow = (value: Sql, order: Sql) => sql`select string_agg((${value})::text, ',' order by ${order}) from ${given}`
    this.ordering = toStatement(inOneRow(sql`"N" - 1`, collated), [texts]).text
    const place = sql`width_bucket(${collated}, ${thresholds}::text[])`
    this.placing = toStatement(inOneRow(place, sql`"N"`), [texts, thresholds]).text
  }

  /** The indexes of texts that all differ, in ascending order of the texts. @throws ApiError 500, 503 */
  order(texts: readonly string[]): Promise<number[]> {
    return this.ask(this.ordering, [texts])
  }

  /** For each text, how many of the thresholds, which ascend, are not greater than it. @throws ApiError 500, 503 */
  places(texts: readonly string[], thresholds: readonly string[]): Promise<number[]> {
    return this.ask(this.placing, [texts, thresholds])
  }

  /** One row for all numbers costs the event loop a tenth of a row for each. */
  private async ask(text: string, arrays: readonly (readonly string[])[]): Promise<number[]> {
    const [row] = await this.reader.read({ text, values: arrays.map(arrayText) })
    return (row?.[0] ?? '').split(',').map(Number)
  }
}
