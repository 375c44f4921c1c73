// Batches: a read, an insert or an update for several runs as one statement, and the parts that single writes share with it.
import type { Batch } from '../model/batch.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement, typeName } from '../model/sql.ts'

/** A value of a statement, and its type. */
export interface Operand {
  readonly param: Param
  readonly type: string
}

/** Sets `roster.key`, which triggers copy into lines of changes, for the transaction; always true. D57 */
export function setsKey(asker: Param): Sql {
  return sql`(select set_config('roster.key', ${asker}, true)) is not null`
}

/** Sets the key, and for a batch a lock timeout of 100 ms: then its runs are sent alone, and only those of locked rows wait. */
export function setsKeyAndTimeout(asker: Param): Sql {
  return sql`(select set_config('lock_timeout', '100', true) || set_config('roster.key', ${asker}, true)) is not null`
}

/** A query for each run. A join with what depends on the run is a nested loop, so rows of one run keep their order. */
export function batchQuery(query: Sql, operands: readonly Operand[]): Batch {
  // No operand may be text: a parameter takes its collation from the column that it is compared with, a column does not.
  const inner = replaceParams(query, columnOf(operands))
  const text = textOf(operands, null, ({ from }) => sql`select r.*, b."N" from ${from} cross join lateral (${inner}) as r`)
  return { text, rows: 'numbered', distinct: null }
}

/** The text of a batch. Its arrays are numbered as the operands are; behind them comes the asker of a write. */
export function textOf(operands: readonly Operand[], asker: Param | null, compile: (runs: Runs) => Sql): string {
  const params = operands.map(() => param(null))
  const all = rowsOf(operands, (index) => sql`${params[index] as Param}`)
  const settings = asker === null ? sql`true` : setsKeyAndTimeout(asker)
  return toStatement(compile({ ...all, settings }), asker === null ? params : [...params, asker]).text
}

/** A row of another table that a run refers to: without it, nothing of the run is written. */
export interface Source {
  readonly table: Sql
  readonly id: Param
  /** Value that is copied from the row; for a reference without a copy, any value that is never null. */
  readonly copied: Sql
  readonly as: Sql
}

/** A row whose `values` find what they copy in `b`. `insert` and `returning` take no operand. */
export interface InsertParts {
  readonly insert: Sql
  readonly values: Sql
  readonly returning: Sql
  readonly sources: readonly Source[]
  /** Positions of the references in a returned row. */
  readonly matches: NonNullable<Batch['matches']>
}

/** A new row, unless one of its sources is missing. */
export function insertOne({ insert, values, returning, sources }: InsertParts, asker: Param): Sql {
  const settings = setsKey(asker)
  if (sources.length === 0) return sql`${insert} select ${values} where ${settings} ${returning}`
  return sql`${insert} select ${values} from (select ${list(sources.map(lookup))} offset 0) as b where ${settings} and ${allFound(sources)} ${returning}`
}

/** A new row for each run, unless one of its sources is missing; identities are given in the order of `order by`. */
export function batchInsert(parts: InsertParts, operands: readonly Operand[], asker: Param): Batch {
  const { insert, returning, sources, matches } = parts
  const values = replaceParams(parts.values, columnOf(operands))
  const compile = (runs: Runs) =>
    sql`${insert} select ${values} from ${foundRuns(sources, operands, runs)} order by b."N" ${returning}`
  return { text: textOf(operands, asker, compile), rows: 'ordered', distinct: null, matches }
}

/** The runs whose sources are there, with what they copy. */
export function foundRuns(sources: readonly Source[], operands: readonly Operand[], { from, settings }: Runs): Sql {
  const rows = sql`${from} where ${settings}`
  if (sources.length === 0) return rows
  const value = columnOf(operands)
  const lookups = replaceParams(list([sql`b.*`, ...sources.map(lookup)]), value)
  return sql`(select ${lookups} from ${rows} offset 0) as b where ${replaceParams(allFound(sources), value)}`
}

/** Finds a source under the lock that the foreign key takes anyway: it waits for a rename under way, and sees the new name. */
export function lookup({ table, id, copied, as }: Source): Sql {
  // In a query that ends with `offset 0`, or the planner would look up once for the condition and once for the value.
  return sql`(select ${copied} from ${table} where id = ${id} for key share) as ${as}`
}

export function allFound(sources: readonly Source[]): Sql {
  const isFound = ({ id, as }: Source) => sql`(${id}::bigint is null or b.${as} is not null)`
  return join(sources.map(isFound), sql` and `)
}

/** An update of a table `t`, whose row, locked, is `before`. */
export interface UpdateParts {
  readonly table: Sql
  readonly sets: Sql
  readonly returning: Sql
  /** Rows of other tables, which are locked before; `sets` find what is copied in queries of their names. */
  readonly sources: readonly Source[]
  /** The versions that the row may have, an array as PostgreSQL writes it; null: any. */
  readonly among: Param | null
  /** Locks rows before all others, and is never null; null: none. */
  readonly first: Sql | null
  /** Conditions of the row before the update, which else is left as it is. */
  readonly conditions: readonly Sql[]
  /** Conditions of the row `before` and the values. */
  readonly rules: readonly Sql[]
}

/** Condition of the row itself, where it is locked, so that PostgreSQL checks it again after it has waited for the lock. */
export function isAmong(xmin: Sql, versions: Sql): Sql {
  return sql`${xmin}::text = any (${versions}::text[])`
}

export const OWN_ID = sql`own.id`

/** Updates a row. It is locked by the statement that checks it, so no other write comes between. */
export function updateOne(parts: UpdateParts, id: Param, asker: Param): Sql {
  const { table, sets, returning, sources, among, first, conditions, rules } = parts
  // Before the row itself, because a rename has locked one of these when it comes to this row.
  const lock = ({ table, id }: Source) =>
    sql`(${id}::bigint is null or (select true from ${table} where id = ${id} for key share))`
  const version = among === null ? [] : [isAmong(sql`xmin`, sql`${among}`)]
  const locked = first ? [sql`${first} is not null`] : []
  const all = join(
    [sql`id = ${id}`, setsKey(asker), ...locked, ...version, ...sources.map(lock), ...rules, ...conditions],
    sql` and `,
  )
  const before = sql`(select id from ${table} where ${all} for no key update) as before`
  return sql`update ${table} as t set ${sets} from ${before} where t.id = before.id ${returning}`
}

export function batchUpdate(parts: UpdateParts, operands: readonly Operand[], asker: Param): Batch {
  const text = textOf(operands, asker, (runs) => updateRuns(parts, operands, runs))
  return { text, rows: 'numbered', distinct: operands.length - 1 }
}

/** Sets columns of a row for each run, each by another id, the last operand. A row that fails a condition stays as it is. */
export function updateRuns(parts: UpdateParts, operands: readonly Operand[], { from, arrays, settings }: Runs): Sql {
  const { table, sets, returning, sources, among, first, conditions, rules } = parts
  const value = columnOf(operands)
  const isReady = first ? sql`(select "Is" from "Locked") is not null` : settings
  const locked = first ? [sql`"Locked" as materialized (select ${first} as "Is" where ${settings})`] : []
  const id = value((operands.at(-1) as Operand).param)
  const arrayOf = (param: Param) => arrays[operands.findIndex((operand) => operand.param === param)] as Sql
  const find = ({ table, id, copied, as }: Source) =>
    sql`${as} as materialized (select id, ${copied} as "K" from ${table} where id = any (${arrayOf(id)}) and ${isReady} for key share)`
  const joins = sources.map(({ id, as }) => sql` left join ${as} on ${as}.id = ${value(id)}`)
  // All of them before the rows themselves; a rename locks them in this order too.
  const locks = sources.map(({ as }) => sql` and (select count(*) from ${as}) is not null`)
  const ids = arrays.at(-1) as Sql
  const version = among === null ? [] : [isAmong(sql`own.xmin`, sql`(${arrayOf(among)})[array_position(${ids}, ${OWN_ID})]`)]
  const met = [...version, ...conditions].map((condition) => sql` and ${condition}`)
  const before = sql`(select * from ${table} as own where id = any (${ids}) and ${isReady}${join([...locks, ...met], sql``)} order by id for no key update) as before`
  const isMet = [
    ...sources.map(({ id, as }) => sql` and (${value(id)} is null or ${as}.id is not null)`),
    ...rules.map((rule) => sql` and ${replaceParams(rule, value)}`),
  ]
  const steps = [...locked, ...sources.map(find)]
  const head = steps.length === 0 ? sql`` : sql`with ${list(steps)} `
  return sql`${head}update ${table} as t set ${replaceParams(sets, value)} from ${from} join ${before} on before.id = ${id}${join(joins, sql``)} where t.id = before.id${join(isMet, sql``)} ${returning}, b."N"`
}

/** The runs of a statement. */
export interface Runs {
  /** A row `b` for each: its values, and its number. No column of an entity has a capital letter. */
  readonly from: Sql
  readonly arrays: readonly Sql[]
  /** A condition that is always true, and sets the API key and the lock timeout. */
  readonly settings: Sql
}

/** One run, of the operands themselves, which waits for locks as any statement. */
export function oneRun(operands: readonly Operand[], asker: Param): Runs {
  const all = rowsOf(operands, (index) => sql`array[${(operands[index] as Operand).param}]`)
  return { ...all, settings: setsKey(asker) }
}

export function rowsOf(operands: readonly Operand[], arrayOf: (index: number) => Sql): { from: Sql; arrays: Sql[] } {
  // Without the limits of a column's type, which would round a filter's number to those of a row.
  const arrays = operands.map(({ type }, index) => sql`${arrayOf(index)}::${typeName(type.replace(/\(.*?\)/, ''))}[]`)
  const names = operands.map((_, index) => sql`"V${integer(index + 1)}"`)
  const from = sql`unnest(${list(arrays)}) with ordinality as b(${list([...names, sql`"N"`])})`
  return { from, arrays }
}

export function columnOf(operands: readonly Operand[]): (param: Param) => Sql {
  return (param) => sql`b."V${integer(operands.findIndex((operand) => operand.param === param) + 1)}"`
}

export function list(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
