// Rows that match filters: the `from` clause and the conditions of a statement.
import type { Entity, Property, RelatedPath } from '../model/entity.ts'
import { foldSql } from '../model/fold.ts'
import { equality, inequality } from '../model/operators.ts'
import type { Filter, FiltersAndSorts } from '../model/query.ts'
import { isOfOtherRows, matchesNone, order, ownProperty } from '../model/query.ts'
import { integer, join, name, type Param, type Sql, sql, typeName } from '../model/sql.ts'
import { commaList } from './batch.ts'
import { valuesOf, where } from './parts.ts'

/** Source and conditions of a statement's rows. */
export interface Matching {
  /** Name that qualifies the rows' columns. */
  readonly table: Sql
  /** The `from` clause without the keyword. */
  readonly from: Sql
  readonly conditions: readonly Sql[]
}

/**
 * Compiles the source of a statement, and a condition for each filter. `operands`: parameters for `valuesOf(filters)`, in that
 * order. `alias`: name for the rows; null: the name of the table.
 */
export function matching(
  entity: Entity,
  filters: readonly Filter[],
  operands: readonly Param[],
  alias: Sql | null = null,
): Matching {
  const folded = new Map<Property, Sql>()
  const conditions = compileFilters(filters, operands, {
    valueOf: ({ column }) => name(column),
    foldedOf: (property) => folded.getOrInsertComputed(property, () => sql`"F${integer(folded.size + 1)}"`),
    hasIdArrays: false,
  })
  const texts = [...folded].map(([{ column }, text]) => foldedOnce(name(column), text))
  const table = alias ?? name(entity.table)
  const source = alias ? sql`${name(entity.table)} as ${alias}` : table
  return { table, from: join([source, ...texts], sql``), conditions }
}

/** Values of a row in SQL. */
export interface RowSql {
  /** Returns the value of a property that belongs to the row itself. */
  valueOf(property: Property): Sql
  /** Returns the folded text of a property that belongs to the row itself. */
  foldedOf(property: Property): Sql
  /** True if references are compared with arrays of ids: PostgreSQL can use an index for these even within an `or`. */
  readonly hasIdArrays: boolean
}

/** Compiles a condition for each filter. `operands`: parameters for `valuesOf(filters)`, in that order. */
function compileFilters(filters: readonly Filter[], operands: readonly Param[], row: RowSql): Sql[] {
  let next = 0
  return filters.map((filter) => compileFilter(filter, operands.slice(next, (next += valuesOf([filter]).length)), row))
}

/** Compiles the condition of a filter. `operands`: parameters for `valuesOf([filter])`. */
export function compileFilter(filter: Filter, operands: readonly Param[], row: RowSql): Sql {
  const { property, operator, anyOf, either } = filter
  if (either) return compileUnion(filter, operands, row)
  const value = row.valueOf(ownProperty(property))
  if (row.hasIdArrays && isOfOtherRows(filter) && !matchesNone(filter))
    return sql`${value} = any (array(${referredIds(filter, operands)}))`
  if (property.related !== null) return compileRelated(filter, property.related, value, operands)
  if (operator.isChain) return operator.compile(value, chainedIds(filter, operands))
  const operand = filter.value === null ? null : (operands[0] as Param)
  const compared = operand && operator.compile(operator.folded === null ? value : row.foldedOf(property), operand)
  if (compared && !anyOf?.includes(null)) return compared
  if (!operator.compileEmpty) throw new Error(`operator ${operator.sign} without a value`)
  const empty = operator.compileEmpty(value, property.kind.emptyIsNoValue)
  return compared ? sql`(${compared} or ${empty})` : empty
}

/**
 * Compiles a union. For an `or` over a subquery PostgreSQL reads the whole table. With arrays of ids it can combine index scans
 * of all alternatives. But if PostgreSQL then compares each row with a long array, the statement is slow. So arrays require
 * `hasFewIds`.
 */
function compileUnion({ either = [], hasFewIds }: Filter, operands: readonly Param[], row: RowSql): Sql {
  const own = { ...row, hasIdArrays: row.hasIdArrays || hasFewIds === true }
  let next = 0
  const alternatives = either.map((filters) => {
    const ofFilters = operands.slice(next, (next += valuesOf(filters).length))
    return sql`(${join(compileFilters(filters, ofFilters, own), sql` and `)})`
  })
  return sql`(${join(alternatives, sql` or `)})`
}

/**
 * Compiles a filter on a property of the row that a reference names. A row has no such value if its reference is null, or if the
 * key may not read the referred row. So a filter that also matches rows without a value is negated: the reference must not name a
 * row whose value fails the filter. With `exists` PostgreSQL can join the tables, even if a list of ids would be too long for its
 * memory. If the statement reads a single row, PostgreSQL looks up one referred row.
 */
function compileRelated(filter: Filter, path: RelatedPath, reference: Sql, operands: readonly Param[]): Sql {
  const isOfNone = matchesNone(filter)
  const compared = isOfNone ? complementOf(filter) : filter
  const ids = idsMatchingPath(compared ?? filter, compared === null, path, operands)
  // The name of the reference cannot be mistaken for a column of "R", whose only column is "I".
  const found = sql`exists (select from (${ids}) as "R" where "R"."I" = ${reference})`
  return isOfNone ? sql`not ${found}` : found
}

/** Selects the ids that the reference of a matching row may have, for a filter by a path or by a chain. */
export function referredIds(filter: Filter, operands: readonly Param[]): Sql {
  const { related } = filter.property
  return related === null ? chainedIds(filter, operands) : idsMatchingPath(filter, false, related, operands)
}

/**
 * Selects the ids of referred rows that match a filter on `property`, to which a path leads. `isNegated`: selects the ids of rows
 * that do not match it.
 */
function idsMatchingPath(filter: Filter, isNegated: boolean, { view, property }: RelatedPath, operands: readonly Param[]): Sql {
  const rows = matching(view.whole, [{ ...filter, property }, ...view.filters], operands)
  const [condition, ...others] = rows.conditions as [Sql, ...Sql[]]
  // If a list of values includes "no value", the condition is null for a row whose value is not in the list. A plain `not` would
  // be null, too.
  const matched = isNegated ? sql`(${condition}) is not true` : condition
  return sql`select ${rows.table}.id as "I" from ${rowsOf({ ...rows, conditions: [matched, ...others] })}`
}

/**
 * Returns the filter that matches exactly the rows which this filter does not match. PostgreSQL may use an index for it. Returns
 * null if there is no such filter.
 */
function complementOf(filter: Filter): Filter | null {
  if (filter.anyOf) return null
  return { ...filter, operator: filter.operator === equality ? inequality : equality }
}

/**
 * Selects the id of a row and of all rows whose references lead to it. Each id is selected once, so a loop of references ends.
 */
function chainedIds({ property, chain }: Filter, [operand, ...others]: readonly Param[]): Sql {
  if (!chain) throw new Error(`a chain of ${property.name} without its rows`)
  const { table, from, conditions } = matching(chain.whole, chain.filters, others)
  const next = where([sql`${table}.${name(property.column)} = "Below"."B"`, ...conditions])
  const first = sql`select ${operand as Param}::${typeName(property.kind.columnType)}`
  return sql`with recursive "Below" ("B") as (${first} union select ${table}.id from "Below", ${from}${next}) select "B" from "Below"`
}

/**
 * Folds a text only once for each row, because folding costs a hundred times as much as a comparison. `offset 0` keeps the
 * planner from copying the expression into each condition. A row that fails the conditions without folding is not folded.
 */
function foldedOnce(column: Sql, text: Sql): Sql {
  return sql` cross join lateral (select ${foldSql(column)} as ${text} offset 0) as ${text}`
}

/** Rows that a statement reads several times, such as for the total and for the page. */
export interface ReusedRows extends Matching {
  /** Parts of the `with` clause. */
  readonly parts: readonly Sql[]
  /** True if the rows are read from "Found", which has only the columns that sort the list. */
  readonly isMaterialized: boolean
}

/**
 * Like `matching`, but if a filter folds texts or follows a chain, the matching rows are materialized in "Found": the texts are
 * folded, and the chain is followed, only once. Otherwise PostgreSQL might find the page by comparing each row, in the page's
 * order, with each row of a chain: it cannot know how short the chain is.
 */
export function reusedRows(entity: Entity, { filters, sorts }: FiltersAndSorts, operands: readonly Param[]): ReusedRows {
  const matched = matching(entity, filters, operands)
  if (filters.every(isCheap)) return { ...matched, parts: [], isMaterialized: false }
  const keys = commaList(order(entity, sorts).map(({ property }) => name(property.column)))
  const part = sql`"Found" as materialized (select ${keys} from ${rowsOf(matched)})`
  const table = sql`"Found"`
  return { table, from: table, conditions: [], parts: [part], isMaterialized: true }
}

/** Returns whether a filter compares values as they are stored, without folding texts or following chains. */
function isCheap({ operator, either }: Filter): boolean {
  if (either) return either.every((filters) => filters.every(isCheap))
  return operator.folded === null && !operator.isChain
}

/** Returns the `from` and `where` clauses, without the keyword `from`. */
export function rowsOf({ from, conditions }: Matching): Sql {
  return sql`${from}${where(conditions)}`
}
