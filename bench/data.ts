import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import absence from '../src/entities/absence.ts'
import company from '../src/entities/company.ts'
import employee from '../src/entities/employee.ts'
import type { Entity } from '../src/model/entity.ts'
import { MIGRATIONS, readMigrations } from '../src/postgres/migrate.ts'
import { seed, sharesOf } from '../src/seed/seed.ts'

/** Entities in the order of their references: referenced ones first. */
const entities: readonly Entity[] = [company, employee, absence]

/** Number of rows of each table; ids are from 1 to that number. */
export interface Rows {
  readonly absences: number
  readonly employees: number
  readonly companies: number
  /**
   * True if properties of an absence depend on each other: starts grow with ids, and hours with days. Otherwise they are
   * independent.
   */
  readonly areTogether?: true
}

const ALL_FOR_AN_ABSENCE = 31 / 25

/**
 * Returns the numbers of rows for this number of absences, in the proportions of `roster seed`: one employee for 5 absences, and
 * one company for 5 employees.
 */
export function rowsFor(absences: number, areTogether = false): Rows {
  const shares = sharesOf(entities, Math.round(absences * ALL_FOR_AN_ABSENCE))
  const [companies = 0, employees = 0, made = 0] = shares.map(({ rows }) => rows)
  return { absences: made, employees, companies, ...(areTogether ? { areTogether } : {}) }
}

const SEED = 1
/** Fixed range of days, so that the lists of the bench have the same rows on any day. */
const DAYS = { firstDay: '2016-01-01', days: 3_653 }
/** Range in days in which absences with neighboring ids begin, if `areTogether`. */
const DAYS_OF_NEIGHBORS = 60
const HOURS_OF_DAY = 7.5
const SEED_FOLDER = join(import.meta.dir, '../src/seed')

/**
 * Indexes that a team would create for new lists and summaries. They have the order of the list and all columns that are read, so
 * that PostgreSQL need not read rows.
 */
const INDEXES_OF_NEW_LISTS = [
  'absence (status, start, id)',
  'absence (status, id) include (start)',
  'absence (status, period_days, id)',
  'absence (employee_id, start, id)',
  'absence (type, start, id) include (period_days)',
  'absence (type, period_days)',
  'absence (start, id) include (type, period_hours)',
  'absence (start) include (type, employee_id, period_days)',
  'employee (department, started, id)',
]

/**
 * Fills the empty tables of a migrated database by `src/seed`, copies all rows to the schema `bench` for `restore`, and marks the
 * database as loaded.
 */
export async function load(url: string, rows: Rows): Promise<void> {
  await using(url, async (sql) => {
    // Indexes are created after the rows are loaded: this is faster than updating them for each row.
    const indexes = await sql<{ name: string; definition: string }[]>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
      from pg_index
      where indrelid = any (${entities.map(({ table }) => table)}::regclass[])
        and not exists (select from pg_constraint where conindid = indexrelid)
      order by indrelid, indexrelid`
    for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
    const all = rows.absences + rows.employees + rows.companies
    await seed(sql, entities, { rows: all, seed: SEED, range: DAYS, onRows: () => undefined })
    if (rows.areTogether) await bringTogether(sql, rows)
    for (const { definition } of indexes) await sql.unsafe(definition)
    await sql`create schema bench`
    for (const { table } of entities) {
      const columns = (await columnsOf(sql, table)).join(', ')
      await sql.unsafe(`create table bench.${table} as select ${columns} from ${table}`)
      await sql.unsafe(`alter table bench.${table} add primary key (id)`)
      await sql.unsafe(`vacuum (analyze) bench.${table}`)
    }
    await sql`create table bench.loaded (fingerprint text not null)`
    await mark(sql, rows)
  })
}

/**
 * Makes the properties of absences depend on each other, as in real data. Starts are in the order of ids, except within
 * `DAYS_OF_NEIGHBORS`, and hours follow from days. Properties without a value stay without a value.
 */
async function bringTogether(sql: postgres.Sql, { absences }: Rows) {
  const days = DAYS.days - DAYS_OF_NEIGHBORS
  const first = `${DAYS.firstDay} 00:00:00+00`
  await sql.unsafe(`
    update absence set start = begins, "end" = begins + ("end" - start), period_hours = ${HOURS_OF_DAY} * period_days
    from (
      select id as of, date_trunc('second', timestamptz '${first}' + interval '1 day' * (
        ${days} * (id - 1)::float8 / ${absences} + ${DAYS_OF_NEIGHBORS} * (hashint8extended(id, 0) & 1048575) / 1048576
      )) as begins
      from absence where start is not null
    ) as made
    where of = id`)
  await sql`vacuum (full, analyze) absence`
}

/** Prepares a copy of a loaded database for peers: removes Roster's triggers; `isIndexed` adds indexes for new lists. */
export async function prepareForPeers(url: string, rows: Rows, isIndexed: boolean): Promise<void> {
  await using(url, async (sql) => {
    const triggers = await sql<{ name: string; table: string }[]>`
      select quote_ident(tgname) as name, tgrelid::regclass::text as table from pg_trigger where tgenabled = 'A' and not tgisinternal`
    for (const { name, table } of triggers) await sql.unsafe(`drop trigger ${name} on ${table}`)
    if (!isIndexed) return
    for (const index of INDEXES_OF_NEW_LISTS) await sql.unsafe(`create index on ${index}`)
    await sql`vacuum (analyze) absence`
    await sql`vacuum (analyze) employee`
    await sql`delete from bench.loaded`
    await mark(sql, rows)
  })
}

/** True if the database was loaded completely with these rows, by the current migrations and code. */
export async function isLoaded(url: string, rows: Rows): Promise<boolean> {
  return using(url, async (sql) => {
    const [there] = await sql`select to_regclass('bench.loaded') is not null as yes`
    const [loaded] = there?.yes ? await sql`select fingerprint from bench.loaded` : []
    return loaded?.fingerprint === fingerprintOf(rows)
  })
}

/**
 * Undoes writes since the rows were loaded or restored: new and changed rows, copied names, used ids. Clients may stay connected,
 * but must not write in the meantime.
 */
export async function restore(url: string, rows: Rows): Promise<void> {
  await using(url, async (sql) => {
    const touched = await sql.begin(async (transaction) => {
      // Triggers record no changes of a session with this application name.
      await transaction`set local application_name = 'roster bench'`
      const changed: string[] = []
      for (const [index, count] of [rows.companies, rows.employees, rows.absences].entries()) {
        const { table } = entities[index] as (typeof entities)[number]
        if ((await restoreTable(transaction, table, count)) > 0) changed.push(table)
      }
      return changed
    })
    if (touched.length === 0) return
    for (const table of touched) await sql`vacuum (analyze) ${sql(table)}`
    // The restored rows are newer than the mark, so the mark is renewed.
    await sql`update bench.loaded set fingerprint = fingerprint`
    await sql`checkpoint`
  })
}

/** Restores one table; returns how many rows it has restored. */
async function restoreTable(sql: postgres.TransactionSql, table: string, count: number): Promise<number> {
  const added = await sql`delete from ${sql(table)} where id > ${count}`
  const columns = (await columnsOf(sql, table)).slice(1)
  const loaded = columns.map((column) => `loaded.${column}`)
  const changed = await sql.unsafe(`
    update ${table} as now set (${columns}) = row (${loaded}) from bench.${table} as loaded
    where loaded.id = now.id and age(now.xmin) < (select age(xmin) from bench.loaded)
      and row (${columns.map((column) => `now.${column}`)}) is distinct from row (${loaded})`)
  await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${count})`
  return added.count + changed.count
}

/** Returns the columns that can be written, the id first; generated columns are left out. */
async function columnsOf(sql: postgres.ISql, table: string): Promise<string[]> {
  const columns = await sql<{ name: string }[]>`
    select quote_ident(attname) as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    order by attname <> 'id', attnum`
  return columns.map(({ name }) => name)
}

/** Marks the database as loaded. The mark's transaction is later than the rows', and earlier than later writes. */
async function mark(sql: postgres.Sql, rows: Rows) {
  await sql`insert into bench.loaded values (${fingerprintOf(rows)})`
  // The data is written to disk now, so that the shutdown and the first scenario are not slowed down by it.
  await sql`checkpoint`
}

function fingerprintOf(rows: Rows): string {
  const hash = createHash('sha256').update(JSON.stringify(rows))
  for (const { checksum } of readMigrations(MIGRATIONS)) hash.update(checksum)
  for (const file of readdirSync(SEED_FOLDER).sort()) hash.update(readFileSync(join(SEED_FOLDER, file)))
  hash.update(readFileSync(import.meta.path))
  return hash.digest('hex')
}

/** Runs `work` without triggers, and without checks of foreign keys, because `src/seed` generates valid references and copies. */
async function using<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const connection = {
    session_replication_role: 'replica',
    synchronous_commit: 'off',
    maintenance_work_mem: '256MB',
    // Parallel workers would need shared memory, of which containers have little. This is a text, because the driver leaves out a
    // number 0.
    max_parallel_maintenance_workers: '0',
  }
  const sql = postgres(url, { max: 1, onnotice: () => undefined, connection: connection as object })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
