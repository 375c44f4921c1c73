// The statement that inserts generated rows of one entity.
import type { Entity, Property, Reference } from '../model/entity.ts'
import { integer, join, name, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { FEW_NULLS } from './randomValues.ts'
import { compileValue, randomOf, uniquesMax, type ValueSource } from './values.ts'

/** The first and the last id of a table that has rows. */
export interface Ids {
  readonly first: number
  readonly last: number
}

/** Inputs of the generator, with the ids that references need. */
export interface GeneratorInput extends ValueSource {
  /** Ids in the referenced tables, by table name; null: the table has no rows. */
  readonly ids: ReadonlyMap<string, Ids | null>
  /** Last id of the table before generated rows were added; 0 if it had no rows. The first generated row has the next number. */
  readonly base: number
  /**
   * Ids of the rows of this entity that were generated so far, to which later rows can refer. Null: there are none, or the entity
   * does not refer to itself.
   */
  readonly own: Ids | null
}

/** Number of rows that refer to the same row of their own entity, such as the employees of a manager. */
const ROWS_PER_PARENT = 8

/**
 * Returns the maximum number of rows that the next insert may add to an entity that refers to itself. Each of these rows must
 * refer to a row of an earlier insert, and at most `ROWS_PER_PARENT` rows refer to the same row. `made`: number of rows that were
 * generated so far.
 */
export function nextOwn(made: number): number {
  return (ROWS_PER_PARENT - 1) * made + 1
}

/** Compiles an insert of the rows with the numbers `from` to `to`. */
export function compileSeed(input: GeneratorInput, from: number, to: number): Statement {
  const { entity } = input
  const columns: Sql[] = []
  const expressions: Sql[] = []
  const joins: Sql[] = []
  for (const property of entity.properties) {
    if (!property.writable) continue
    const { reference } = property
    columns.push(name(property.column))
    if (reference === null) {
      expressions.push(compileValue(input, property))
      continue
    }
    const alias = name(`referred_${joins.length + 1}`)
    expressions.push(sql`${alias}.id`)
    if (reference.copy) columns.push(name(reference.copy.keyColumn))
    if (reference.copy) expressions.push(sql`${alias}.key`)
    joins.push(sql` left join lateral (${referred(input, property, reference)}) as ${alias} on true`)
  }
  return toStatement(sql`insert into ${name(entity.table)} (${join(columns, sql`, `)})
    select ${join(expressions, sql`, `)}
    from generate_series(${integer(from)}::bigint, ${integer(to)}::bigint) as made (n)${join(joins, sql``)}
    order by made.n
    on conflict do nothing`)
}

/**
 * Selects the referenced row: the row with the ordinal from `ordinalOf`, or, if that row was deleted, the row with the next id.
 */
function referred(input: GeneratorInput, property: Property, { table, copy }: Reference): Sql {
  const key = copy ? sql`, referred.${name(copy.sourceColumn)} as key` : sql``
  const from = sql`select referred.id${key} from ${name(table)} as referred`
  const [ordinal, ids] = ordinalOf(input, property, table)
  if (ids === null) return sql`${from} where false`
  return sql`${from}
    where referred.id >= ${integer(ids.first)} + (${ordinal}) and referred.id <= ${integer(ids.last)}
    order by referred.id limit 1`
}

/**
 * Returns the ordinal of the referenced row, and the first and the last id of the rows that can be referenced. The first id has
 * the ordinal 0. If there is no row to refer to, returns null instead of the ids.
 */
function ordinalOf(input: GeneratorInput, property: Property, table: string): readonly [Sql, Ids | null] {
  const { entity, base, own } = input
  if (property.unique !== null) return [sql`made.n - 1`, input.ids.get(table) ?? null]
  // The rows of an entity that refers to itself form a tree with eight children each. The root refers to no row.
  if (table === entity.table)
    return [
      sql`case when made.n = ${integer(base + 1)} then null else (made.n - ${integer(base + 2)}) / ${integer(ROWS_PER_PARENT)} end`,
      own,
    ]
  const ids = input.ids.get(table) ?? null
  const random = randomOf(input, property)
  const ordinal = random.below(ids === null ? 1 : ids.last - ids.first + 1)
  return [property.kind.nullable ? random.orNull(ordinal, FEW_NULLS) : ordinal, ids]
}

/**
 * Returns the maximum number of rows that can be generated after `base`. Unique properties that are never null limit it, because
 * they run out of values.
 */
export function rowsMax({ properties }: Entity, ids: ReadonlyMap<string, Ids | null>, base: number): number {
  const limits = properties
    .filter(({ unique, kind }) => unique !== null && !kind.nullable)
    .map((property) => {
      if (property.reference === null) return uniquesMax(property)
      const of = ids.get(property.reference.table)
      return of ? of.last - of.first + 1 : 0
    })
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, ...limits) - base)
}
