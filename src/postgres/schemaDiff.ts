// The next migration: SQL that adds what the database's tables lack, compared with the declared entities.
import type postgres from 'postgres'
import type { Entity } from '../model/entity.ts'
import { type DeclaredTable, declaredTables, type Part, type Quote } from './declaredTable.ts'
import { alterText, compareTable, constraintText, indexTexts, readTables } from './tableDifference.ts'

/**
 * Compares tables with the declarations. Returns `text`: the SQL that adds what is missing, or '' if nothing is missing;
 * `tables`: the tables that this SQL changes; `remarks`: advice about differences that the SQL does not remove. Changes nothing:
 * it rolls back the tables that it creates, and locks no served table. `others`: further tables that get no remark although no
 * entity declares them.
 */
export async function nextMigration(sql: postgres.ISql, entities: readonly Entity[], others: readonly string[] = []) {
  const quote = await quoting(sql)
  const declared = declaredTables(entities, quote)
  const names = declared.map(({ table }) => table)
  const found = await readTables(sql, names)
  const expected = await createInRolledBackTransaction(sql, entities, quote)
  const missing = declared.filter(({ table }) => !found.has(table))
  const differences = declared.flatMap((table) => {
    const there = found.get(table.table)
    const should = expected.get(table.table)
    return there && should ? [compareTable(table, there, should, quote)] : []
  })
  const changed = differences.filter(({ first, last }) => first.length + last.length > 0).map(({ table }) => table)
  const silent = names.filter((table) => !found.get(table)?.isRecorded)
  // New tables are created before existing tables get columns that depend on other tables. Foreign keys from new tables to such
  // existing tables are added afterwards.
  const created = allCreated(missing, quote, new Set(differences.filter(({ last }) => last.length > 0).map(({ table }) => table)))
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

/**
 * Returns the SQL of new tables with their indexes, and the SQL of foreign keys that must be added later. These refer to a table
 * that is created later, or to one of the `unfinished` tables, which still lack columns.
 */
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

/** Returns the SQL that creates tables. They must refer only to each other, and their names must not be reserved words of SQL. */
export function newTables(entities: readonly Entity[]): string {
  const quote = (name: string) => name
  const declared = declaredTables(entities, quote)
  const { tables, keys } = allCreated(declared, quote)
  return `${[...tables, ...keys, ...declared.map(({ table }) => recorded(table))].join('\n\n')}\n`
}

/** Returns a function that quotes a name if it is a reserved word of this PostgreSQL. */
async function quoting(sql: postgres.ISql): Promise<Quote> {
  const rows = await sql`select word from pg_get_keywords() where catcode in ('R', 'T', 'C')`
  const words = new Set(rows.map(({ word }) => word as string))
  return (name) => (words.has(name) ? `"${name}"` : name)
}

/**
 * Prefix of tables that are created for a comparison. It is short, because PostgreSQL truncates names, and no name is likely to
 * begin with it.
 */
const TRIAL = 'zq9_'
const TRIED = new RegExp(`${TRIAL}(\\w+)`, 'g')

/**
 * Creates the declared tables with the prefix `TRIAL`, reads how PostgreSQL writes their definitions, and rolls back. Needs only
 * the right to create tables.
 */
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

/** Returns the text without the prefix `TRIAL`. `quote`: quotes a name that needs quotes once it has no prefix. */
function withoutTrial(text: string, quote: Quote = (name) => name): string {
  return text.replaceAll(TRIED, (_, name) => quote(name))
}

function recorded(table: string): string {
  return `-- Without these triggers no server keeps the table in memory, and its rows have no lines of what has changed.
select record_changes_of('${table}');`
}

/** Returns remarks about tables that an entity once had and no entity declares now. */
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
