// SQL of joint questions: which rows of several tables have changed, as of one snapshot. `statements.ts` asks about one table.
import { commaList } from '../compile/batch.ts'
import type { Entity } from '../model/entity.ts'
import { memoize } from '../model/memoize.ts'
import { arrayText, integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { copiedColumns, definitionOf, KEPT_FROM, SNAPSHOT, type Snapshot, stateOf } from './statements.ts'

/** A table and the snapshot of its copy. */
export interface AskedTable {
  readonly entity: Entity
  /** Number of the table in `pg_class`. */
  readonly relation: string
  readonly snapshot: Snapshot
}

/**
 * Maximum number of changed rows, and of lines of `row_change`, that a joint question reads for one table. It is small, because
 * the lists of all tables of the question wait for the result. A table with more changes gets a statement of its own.
 */
export const JOINT_CHANGES_MAX = 500

const RELATION = sql`asked.relation`
const STATE = stateOf(RELATION, sql`to_regclass(asked."Table")`, sql`asked."Columns"::text[]`)

/**
 * Returns the parameters that say which tables a question is about. With these parameters, the text of the question is the same
 * for all tables.
 */
function valuesOf(asked: readonly AskedTable[]) {
  const list = (textOf: (table: AskedTable) => string) => arrayText(asked.map(textOf))
  const names = asked.map(({ entity }) => namesOf(entity))
  return [
    list(({ relation }) => relation),
    list(({ snapshot }) => snapshot.next),
    list(({ snapshot }) => snapshot.running),
    `{${names.map(({ table }) => table).join()}}`,
    `{${names.map(({ columns }) => columns).join()}}`,
  ] as const
}

/** Name of an entity's table, and array of its column names, each as an element of a PostgreSQL array. */
const namesOf = memoize(({ table, properties }: Entity) => ({
  table: elementOf(`"${table}"`),
  columns: elementOf(arrayText(properties.map(({ column }) => column))),
}))

function elementOf(value: string): string {
  return arrayText([value]).slice(1, -1)
}

/** Returns SQL with a row for each table, numbered from 1, and the parameters of this SQL. */
function askedTables(asked: readonly AskedTable[]) {
  const params = valuesOf(asked).map(param) as [Param, Param, Param, Param, Param]
  const [relations, nexts, runnings, tables, columnNames] = params
  // Each array is in a subquery. There PostgreSQL does not count the array's elements, so it uses the generic plan. If the array
  // were a plain parameter, a plan for the number of its elements would seem cheaper. PostgreSQL would then plan each question
  // anew, which takes longer than the question itself.
  const arrays = commaList([
    sql`(select ${relations}::oid[])`,
    sql`(select ${nexts}::xid8[])`,
    sql`(select ${runnings}::text[])`,
    sql`(select ${tables}::text[])`,
    sql`(select ${columnNames}::text[])`,
  ])
  const rows = sql`unnest(${arrays}) with ordinality as asked (relation, next, running, "Table", "Columns", "N")`
  return { rows, params }
}

/**
 * Compiles the question whether rows of the tables have changed since their snapshots. The result has one row for each table, in
 * the order of `asked`. Its columns are:
 * - the snapshot of the statement;
 * - the table's state, see `stateOf`;
 * - the first transaction whose change lines are kept;
 * - whether rows of the table have changed;
 * - if `asksDefinition`: the table's definition, see `definitionOf`.
 */
export function compileJointQuestion(asked: readonly AskedTable[], asksDefinition: boolean): Statement {
  return { text: asksDefinition ? WITH_DEFINITION : WITHOUT_DEFINITION, values: valuesOf(asked) }
}

// The question is compiled once with the definition and once without it, because each list of a person asks this question.
const WITH_DEFINITION = compileQuestionText(true)
const WITHOUT_DEFINITION = compileQuestionText(false)

function compileQuestionText(asksDefinition: boolean): string {
  const { rows, params } = askedTables([])
  const newest = sql`(select row_change.transaction from row_change where row_change.relation = ${RELATION} order by row_change.transaction desc limit 1)`
  const ofRunning = sql`exists (select from row_change where row_change.relation = ${RELATION} and row_change.transaction = any (asked.running::xid8[]))`
  const isChanged = sql`coalesce(${newest} >= asked.next, false) or ${ofRunning}`
  const definition = asksDefinition ? sql`, ${definitionOf(RELATION)}` : sql``
  return toStatement(
    sql`select ${SNAPSHOT}, ${STATE}, ${KEPT_FROM}, (${isChanged})::int::text${definition} from ${rows} order by asked."N"`,
    params,
  ).text
}

/**
 * Compiles a read of the ids of changed rows of all tables in `asked`, in one snapshot. Of the first `read` tables, the changed
 * rows themselves are read, too. The result has a row for each changed row, and one row without an id for a table without changes
 * or with too many. Its columns are:
 * - the snapshot of the statement;
 * - the table's state, see `stateOf`;
 * - the first transaction whose change lines are kept;
 * - the number of the table in `asked`, from 1;
 * - whether too many rows of the table have changed;
 * - the id of the changed row;
 * - the columns of each of the first `read` tables, table after table. They are null if the row was deleted or belongs to another
 *   table.
 */
export function compileJointRows(asked: readonly AskedTable[], read: number): Statement {
  const { rows, params } = askedTables(asked)
  const limit = integer(JOINT_CHANGES_MAX)
  const more = integer(JOINT_CHANGES_MAX + 1)
  const linesOf = (which: Sql) =>
    sql`(select row_change.ids from row_change where row_change.relation = ${RELATION} and row_change.transaction ${which} order by row_change.transaction desc limit ${more})`
  const lines = sql`${linesOf(sql`>= asked.next`)} union all ${linesOf(sql`= any (asked.running::xid8[])`)}`
  const ofTable = sql`where "N" = asked."N"`
  const isWhole = sql`(select count(*) > ${limit} or coalesce(bool_or(ids is null), false) from "Lines" ${ofTable}) or (select count(*) > ${limit} from "Changed" ${ofTable})`
  const tables = asked.slice(0, read).map(({ entity }, index) => {
    const number = integer(index + 1)
    // Looks up the rows one by one. `compileChangedRows` says why.
    const found = sql`select ${copiedColumns(entity)} from ${name(entity.table)} as own where "Found"."N" = ${number} and own.id = "Changed".id offset 0`
    return { from: sql`left join lateral (${found}) as now_${number} on true`, columns: sql`now_${number}.*` }
  })
  return toStatement(
    sql`with asked as materialized (select * from ${rows}), \
"Lines" as materialized (select "N", ids from asked cross join lateral (${lines}) as lines), \
"Changed" as materialized (select "N", id from asked cross join lateral (select distinct unnest(ids) as id from "Lines" ${ofTable} limit ${more}) as changed), \
"Found" as materialized (select asked."N", ${STATE} as "State", ${isWhole} as "IsWhole" from asked) \
select ${SNAPSHOT}, "State", ${KEPT_FROM}, "Found"."N"::text, "IsWhole"::int::text, "Changed".id::text, ${commaList(tables.map((table) => table.columns))} \
from "Found" left join "Changed" on "Changed"."N" = "Found"."N" and not "IsWhole" \
${join(
  tables.map((table) => table.from),
  sql` `,
)}`,
    params,
  )
}
