// Random values as SQL: PostgreSQL makes them, in the statement that inserts.
import { integer, param, type Sql, sql } from '../model/sql.ts'

/** Rows of 16 without a value, unless a property says another number. */
export const FEW_NULLS = 1

/**
 * Random values of one property, as SQL: the same for the same seed, table, column and row's number, and independent of other
 * properties and seeds. PostgreSQL makes them, in the statement that inserts: no value crosses the wire, and any machine has the
 * same.
 */
export class RandomValues {
  private drawn = 0

  constructor(
    private readonly seed: number,
    private readonly place: string,
  ) {}

  /** 0 up to, not including, `end`. Each call makes another one. */
  below(end: number): Sql {
    const salt = Bun.hash.xxHash64(`${this.seed} ${this.place} ${this.drawn++}`)
    // 62 bits of either: the hash of PostgreSQL has a sign, which % would keep.
    return sql`((hashint8extended(made.n, ${integer(BigInt.asUintN(62, salt))}) & 4611686018427387903) % ${integer(end)})`
  }

  /** One of these texts, none of which has a line break. */
  pick(texts: readonly string[]): Sql {
    return sql`(string_to_array(${param(texts.join('\n'))}, chr(10)))[1 + ${this.below(texts.length)}]`
  }

  /** `value`, but no value in `nulls` of 16 rows. */
  orNull(value: Sql, nulls: number): Sql {
    return nulls === 0 ? value : sql`case when ${this.below(16)} >= ${integer(nulls)} then ${value} end`
  }
}
