// Rows that match filters: the `from` clause and the conditions of a statement.
import type { Entity, Property } from '../model/entity.ts'
import { foldSql } from '../model/fold.ts'
import type { Filter, FiltersAndSorts } from '../model/query.ts'
import { order } from '../model/query.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import { commaList } from './batch.ts'
import { where } from './parts.ts'

/** Source and conditions of a statement's rows. */
export interface Matching {
  /** Name that qualifies the rows' columns. */
  readonly table: Sql
  /** The `from` clause without the keyword. */
  readonly from: Sql
  readonly conditions: readonly Sql[]
}

/** Compiles a condition for each filter. Filters for "no value" take no operand; the others take `operands` in their order. */
export function matching(entity: Entity, filters: readonly Filter[], operands: readonly Param[]): Matching {
  const folded = new Map<Property, Sql>()
  let next = 0
  const conditions = filters.map((filter) => {
    const { property, operator, value } = filter
    const text = operator.folded && folded.getOrInsertComputed(property, () => sql`"F${integer(folded.size + 1)}"`)
    return compileFilter(filter, name(property.column), text, value === null ? null : (operands[next++] as Param))
  })
  const texts = [...folded].map(([{ column }, text]) => foldedOnce(name(column), text))
  const table = name(entity.table)
  return { table, from: join([table, ...texts], sql``), conditions }
}

/** Compiles the condition of a filter on a value. `folded`: its folded text, for operators that compare that. */
export function compileFilter({ property, operator, anyOf }: Filter, value: Sql, folded: Sql | null, operand: Param | null): Sql {
  const compared = operand && operator.compile(folded ?? value, operand)
  if (compared && !anyOf?.includes(null)) return compared
  if (!operator.compileEmpty) throw new Error(`operator ${operator.sign} without a value`)
  const empty = operator.compileEmpty(value, property.kind.emptyIsNoValue)
  return compared ? sql`(${compared} or ${empty})` : empty
}

/**
 * Folds a text once a row, which costs a hundred times what a comparison does. `offset 0` keeps the planner from copying the
 * expression into each condition; it is evaluated only for rows that match the other conditions.
 */
function foldedOnce(column: Sql, text: Sql): Sql {
  return sql` cross join lateral (select ${foldSql(column)} as ${text} offset 0) as ${text}`
}

/** Rows that a statement reads several times, such as for a total and a page. */
export interface ReusedRows extends Matching {
  /** Parts of the `with` clause. */
  readonly parts: readonly Sql[]
  /** True if the rows are read from "Found", which has only the columns of the order. */
  readonly isMaterialized: boolean
}

/** As `matching`, but folds texts only once: the matching rows are materialized in "Found". */
export function reusedRows(entity: Entity, { filters, sorts }: FiltersAndSorts, operands: readonly Param[]): ReusedRows {
  const matched = matching(entity, filters, operands)
  if (filters.every(({ operator }) => operator.folded === null)) return { ...matched, parts: [], isMaterialized: false }
  const keys = commaList(order(entity, sorts).map(({ property }) => name(property.column)))
  const part = sql`"Found" as materialized (select ${keys} from ${rowsOf(matched)})`
  const table = sql`"Found"`
  return { table, from: table, conditions: [], parts: [part], isMaterialized: true }
}

/** The `from` and `where` clauses, without the keyword `from`. */
export function rowsOf({ from, conditions }: Matching): Sql {
  return sql`${from}${where(conditions)}`
}
