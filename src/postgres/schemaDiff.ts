// The next migration: SQL of all that the tables of a database lack of the declarations of their entities.
import type postgres from 'postgres'
import type { Entity } from '../model/entity.ts'
import { type DeclaredTable, declaredTables, type Part, type Quote } from './declaredTable.ts'
import { alterText, compareTable, constraintText, indexTexts, readTables } from './tableDifference.ts'

/**
 * Compares tables with the declarations. Returns SQL that adds what is lacking, if anything, its tables, and remarks: differences
 * without SQL, each with what the developer has to do. Nothing is changed or dropped; the transaction is left as it was, but for
 * a lock of nothing that is served. `others`: tables of which nothing is said.
 */
export async function nextMigration(sql: postgres.ISql, entities: readonly Entity[], others: readonly string[] = []) {
  const quote = await quoting(sql)
  const declared = declaredTables(entities, quote)
  const names = declared.map(({ table }) => table)
  const found = await readTables(sql, names)
  const wanted = await createInRolledBackTransaction(sql, entities, quote)
  const made = declared.filter(({ table }) => !found.has(table))
  const differences = declared.flatMap((table) => {
    const [there, should] = [found.get(table.table), wanted.get(table.table)]
    return there && should ? [compareTable(table, there, should, quote)] : []
  })
  const changed = differences.filter(({ first, last }) => first.length + last.length > 0).map(({ table }) => table)
  const silent = names.filter((table) => !found.get(table)?.isRecorded)
  // What a new table refers to may be a column that another one gets last.
  const created = allCreated(made, quote, new Set(differences.filter(({ last }) => last.length > 0).map(({ table }) => table)))
  const statements = [
    ...differences.flatMap(({ first }) => first),
    ...created.tables,
    ...differences.flatMap(({ last }) => last),
    ...created.keys,
    ...silent.map(recorded),
  ]
  return {
    text: statements.length === 0 ? '' : `${statements.join('\n\n')}\n`,
    tables: names.filter((table) => silent.includes(table) || changed.includes(table)),
    remarks: [...differences.flatMap(({ remarks }) => remarks), ...(await undeclaredTables(sql, [...names, ...others]))],
  }
}

/** New tables with their indexes; and the foreign keys to those of them that come later, and to `unfinished` ones. */
function allCreated(declared: readonly DeclaredTable[], quote: Quote, unfinished: ReadonlySet<string> = new Set()) {
  const names = declared.map(({ table }) => table)
  const tables: string[] = []
  const keys: string[] = []
  for (const { table, columns, constraints, foreignKeys, indexes } of declared) {
    const isLater = ({ table: other = '' }: Part) => names.indexOf(other) > names.indexOf(table) || unfinished.has(other)
    const lines = [
      ...columns.map(({ name, text }) => `${quote(name)} ${text}`),
      ...[...constraints, ...foreignKeys.filter((key) => !isLater(key))].map(constraintText),
    ]
    tables.push(`create table ${quote(table)} (\n  ${lines.join(',\n  ')}\n);`, ...indexTexts(table, indexes, quote))
    keys.push(...foreignKeys.filter(isLater).map((key) => alterText(quote(table), `add ${constraintText(key)}`)))
  }
  return { tables, keys }
}

/** The SQL of the tables of these entities, none of which refers to others, or is called like a word of SQL. */
export function newTables(entities: readonly Entity[]): string {
  const quote = (name: string) => name
  const declared = declaredTables(entities, quote)
  const { tables, keys } = allCreated(declared, quote)
  return `${[...tables, ...keys, ...declared.map(({ table }) => recorded(table))].join('\n\n')}\n`
}

/** By the words of the PostgreSQL that will read it. */
async function quoting(sql: postgres.ISql): Promise<Quote> {
  const rows = await sql`select word from pg_get_keywords() where catcode in ('R', 'T', 'C')`
  const words = new Set(rows.map(({ word }) => word as string))
  return (name) => (words.has(name) ? `"${name}"` : name)
}

/** In front of the names of tables that are made for a moment: short, since names are cut, and nothing that names begin with. */
const TRIAL = 'zq9_'
const TRIED = new RegExp(`${TRIAL}(\\w+)`, 'g')

/** The declared tables as PostgreSQL understands them: made beside those that are there, which needs no other right. */
async function createInRolledBackTransaction(sql: postgres.ISql, entities: readonly Entity[], quote: Quote) {
  const trial = declaredTables(entities, quote, TRIAL)
  const names = trial.map(({ table }) => table)
  await sql`savepoint trial`
  const { tables, keys } = allCreated(trial, quote)
  for (const text of [...tables, ...keys]) await sql.unsafe(text)
  const found = await readTables(sql, names)
  await sql`rollback to savepoint trial`
  const named = (parts: ReadonlyMap<string, string>) =>
    new Map([...parts].map(([name, text]) => [withoutTrial(name), withoutTrial(text, quote)]))
  return new Map(
    [...found].map(([table, made]) => [
      withoutTrial(table),
      { ...made, constraints: named(made.constraints), indexes: named(made.indexes) },
    ]),
  )
}

/** `quote`: for names in SQL, which may need quotes that the longer ones did not. */
function withoutTrial(text: string, quote: Quote = (name) => name): string {
  return text.replaceAll(TRIED, (_, name) => quote(name))
}

function recorded(table: string): string {
  return `-- Without these triggers no server keeps the table in memory, and its rows have no lines of what has changed.
select record_changes_of('${table}');`
}

/** Tables that an entity once had. */
async function undeclaredTables(sql: postgres.ISql, declared: readonly string[]): Promise<string[]> {
  const rows = await sql`
    select distinct relname as name from pg_trigger
    join pg_proc on pg_proc.oid = tgfoid join pg_class on pg_class.oid = tgrelid
    where proname = 'note_other_id' and relnamespace = current_schema()::regnamespace
    order by 1`
  return rows
    .filter(({ name }) => !declared.includes(name))
    .map(({ name }) => `${name}: no entity has this table; it is left as it is.`)
}
