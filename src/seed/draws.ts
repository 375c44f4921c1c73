import { referredFirst } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, param, type Sql, sql } from '../model/sql.ts'

/** How many rows of 16 have no value, where a property says nothing else. */
export const FEW_NULLS = 1

/**
 * Draws the values of one property, as SQL: the same for the same seed, table, column and row's number, and independent of
 * other properties and seeds. PostgreSQL draws, in the statement that inserts: no value crosses the wire, and any machine draws
 * the same.
 */
export class Draws {
  private drawn = 0

  constructor(
    private readonly seed: number,
    private readonly place: string,
  ) {}

  /** 0 up to, not including, `end`. Each call draws anew. */
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

/** These texts as one. */
export function concatenated(...parts: readonly Sql[]): Sql {
  return join(parts, sql` || `)
}

/** Number of rows that refer to each row: five employees to a company, five absences to an employee. */
const EACH = 5
/** Longer chains make no entity larger. */
const STEPS_MAX = 3

export interface Share {
  readonly entity: Entity
  readonly rows: number
}

/** How many of `rows` each entity gets, at least one; those referred to come first. */
export function sharesOf(entities: readonly Entity[], rows: number): Share[] {
  const steps = new Map<string, number>()
  const ordered = referredFirst(entities)
  for (const { table, properties } of ordered) {
    const below = properties.flatMap(({ reference }) => {
      const known = reference && reference.table !== table ? steps.get(reference.table) : undefined
      return known === undefined ? [] : [known + 1]
    })
    steps.set(table, Math.min(STEPS_MAX, Math.max(0, ...below)))
  }
  const weights = ordered.map(({ table }) => EACH ** (steps.get(table) ?? 0))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const shares = weights.map((weight) => Math.max(1, Math.floor((rows * weight) / sum)))
  // What is left over goes to the largest.
  const largest = weights.lastIndexOf(Math.max(...weights))
  const left = rows - shares.reduce((total, share) => total + share, 0)
  return ordered.map((entity, index) => ({
    entity,
    rows: Math.max(1, (shares[index] as number) + (index === largest ? left : 0)),
  }))
}
