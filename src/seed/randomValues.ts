// Random values as SQL expressions.
import { integer, param, type Sql, sql } from '../model/sql.ts'

/** Number of rows, of every 16, in which a value is null by default. */
export const FEW_NULLS = 1

/**
 * Random values of one property, as SQL. They depend only on seed, table, column and row number. PostgreSQL computes them in the
 * insert, so no value crosses the wire, and every machine generates the same values.
 */
export class RandomValues {
  private drawn = 0

  constructor(
    private readonly seed: number,
    private readonly property: string,
  ) {}

  /** Returns a random integer from 0 up to, not including, `end`. Each call draws a new integer. */
  below(end: number): Sql {
    const salt = Bun.hash.xxHash64(`${this.seed} ${this.property} ${this.drawn++}`)
    // Salt and hash are cut to 62 bits: PostgreSQL's hash has a sign, which % would keep.
    return sql`((hashint8extended(made.n, ${integer(BigInt.asUintN(62, salt))}) & 4611686018427387903) % ${integer(end)})`
  }

  /** Returns a UUID of version 4, a different one in each row. */
  uuid(): Sql {
    const digest = sql`md5(${param(`${this.seed} ${this.property} `)}::text || made.n)`
    return sql`overlay(overlay(${digest} placing '4' from 13) placing '8' from 17)::uuid`
  }

  /** Picks one of these texts, which must not contain line breaks. */
  pick(texts: readonly string[]): Sql {
    return sql`(string_to_array(${param(texts.join('\n'))}, chr(10)))[1 + ${this.below(texts.length)}]`
  }

  /** Returns `value`, but null in `nulls` of 16 rows. */
  orNull(value: Sql, nulls: number): Sql {
    return nulls === 0 ? value : sql`case when ${this.below(16)} >= ${integer(nulls)} then ${value} end`
  }
}
