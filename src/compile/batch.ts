import type { Batch } from '../model/batch.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement, typeName } from '../model/sql.ts'

/** A value of a statement, and its type. */
export interface Operand {
  readonly param: Param
  readonly type: string
}

/** Locked rows hold a batch up for so many milliseconds; then its runs go alone, and only who needs them waits. */
const PATIENCE = sql`(select set_config('lock_timeout', '100', true))`

/**
 * A query for each run. A join with what depends on the run is a nested loop, so rows of one run keep their order.
 * No operand may be text: a parameter takes its collation from the column that it is compared with, a column does not.
 */
export function batchQuery(query: Sql, operands: readonly Operand[]): Batch {
  const inner = replaceParams(query, columnOf(operands))
  return {
    text: toStatement(sql`select r.*, b."N" from ${runs(operands).from} cross join lateral (${inner}) as r`).text,
    rows: 'numbered',
    distinct: null,
  }
}

/** A new row for each run; identities are given in the order of `order by`. `insert` and `returning` take no operand. */
export function batchInsert(insert: Sql, values: Sql, returning: Sql, operands: readonly Operand[]): Batch {
  const inner = replaceParams(values, columnOf(operands))
  const piece = sql`${insert} select ${inner} from ${runs(operands).from} cross join ${PATIENCE} as patience order by b."N" ${returning}`
  return { text: toStatement(piece).text, rows: 'ordered', distinct: null }
}

/** An update of a table `t`, whose row as it was is `before`. */
export interface UpdateParts {
  readonly table: Sql
  readonly sets: Sql
  readonly returning: Sql
  /** What `before` has. */
  readonly columns: Sql
  /** Rows of other tables, to be locked before the row itself. */
  readonly sources: readonly { readonly table: Sql; readonly id: Param }[]
}

/** The id of a row, in conditions that it has to meet. */
export const OWN_ID = sql`own.id`

/**
 * Sets columns of one row for each run, whose id is the last operand: no two runs may have the same. A row that does not
 * meet the conditions is left as it is.
 */
export function batchUpdate(
  { table, sets, returning, columns, sources, conditions }: UpdateParts & { readonly conditions: readonly Sql[] },
  operands: readonly Operand[],
): Batch {
  const value = columnOf(operands)
  const { from, arrays } = runs(operands)
  const id = value((operands.at(-1) as Operand).param)
  // In one order, so that two batches do not wait for each other.
  const locks = sources.map(({ table, id }) => {
    const ids = arrays[operands.findIndex(({ param }) => param === id)] as Sql
    return sql` and (select count(*) from (select from ${table} where id = any (${ids}) for key share) as source) is not null`
  })
  const met = conditions.map((condition) => sql` and ${condition}`)
  const before = sql`(select ${columns} from ${table} as own where id = any (${arrays.at(-1) as Sql}) and ${PATIENCE} is not null${join([...locks, ...met], sql``)} order by id for no key update) as before`
  const piece = sql`update ${table} as t set ${replaceParams(sets, value)} from ${from} join ${before} on before.id = ${id} where t.id = before.id ${returning}, b."N"`
  return { text: toStatement(piece).text, rows: 'numbered', distinct: operands.length - 1 }
}

/** A row for each run: its values, and its number; and the arrays of all. No column of an entity has a capital letter. */
function runs(operands: readonly Operand[]): { from: Sql; arrays: Sql[] } {
  // Without the limits of a column's type, which would round a filter's number to those of a row.
  const arrays = operands.map(({ type }) => sql`${param(null)}::${typeName(type.replace(/\(.*?\)/, ''))}[]`)
  const names = operands.map((_, index) => sql`"V${integer(index + 1)}"`)
  const from = sql`unnest(${list(arrays)}) with ordinality as b(${list([...names, sql`"N"`])})`
  return { from, arrays }
}

function columnOf(operands: readonly Operand[]): (param: Param) => Sql {
  return (param) => sql`b."V${integer(operands.findIndex((operand) => operand.param === param) + 1)}"`
}

function list(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
