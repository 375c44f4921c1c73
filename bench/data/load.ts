import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { MIGRATIONS, readMigrations } from '../../src/postgres/migrate.ts'
import { seed } from '../../src/seed/seed.ts'
import { entities, type Rows } from './rows.ts'

const SEED = 1
/** Fixed, so that the lists of the bench have as many rows on any day. */
const DAYS = { firstDay: '2016-01-01', days: 3_653 }
/** The code that decides what a database of the bench holds. */
const MAKERS = [join(import.meta.dir, '../../src/seed'), import.meta.dir]

/**
 * Indexes that a team would make for the lists and summaries never asked before: in the order of the answer, and with all
 * columns that are read, so that PostgreSQL reads no rows.
 */
const INDEXES_OF_NEW_LISTS = [
  'absence (status, start, id)',
  'absence (start, id) include (type, period_hours)',
  'absence (start) include (type, employee_id, period_days)',
]

/**
 * Fills the empty tables of a migrated database by `src/seed`, copies all rows to the schema `bench`, from which `restore`
 * takes them, and marks the database as loaded.
 */
export async function load(url: string, rows: Rows): Promise<void> {
  const sql = connect(url)
  try {
    // Building an index after its rows is faster than keeping it.
    const indexes = await sql<{ name: string; definition: string }[]>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
      from pg_index
      where indrelid = any (${entities.map(({ table }) => table)}::regclass[])
        and not exists (select from pg_constraint where conindid = indexrelid)
      order by indrelid, indexrelid`
    for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
    const all = rows.absences + rows.employees + rows.companies
    await seed(sql, entities, { rows: all, seed: SEED, range: DAYS, onRows: () => undefined })
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
  } finally {
    await sql.end()
  }
}

/** Adds indexes for the lists never asked before to a copy of a loaded database. */
export async function addIndexes(url: string, rows: Rows): Promise<void> {
  const sql = connect(url)
  try {
    for (const index of INDEXES_OF_NEW_LISTS) await sql.unsafe(`create index on ${index}`)
    await sql`vacuum (analyze) absence`
    await sql`delete from bench.loaded`
    await mark(sql, rows)
  } finally {
    await sql.end()
  }
}

/** Whether the database was loaded to its end with these rows, by today's migrations and makers. */
export async function isLoaded(url: string, rows: Rows): Promise<boolean> {
  const sql = connect(url)
  try {
    const [there] = await sql`select to_regclass('bench.loaded') is not null as yes`
    if (!there?.yes) return false
    const [loaded] = await sql`select fingerprint from bench.loaded`
    return loaded?.fingerprint === fingerprintOf(rows)
  } finally {
    await sql.end()
  }
}

/** Takes Roster's triggers off the tables, so that others who write to them do not pay for what Roster records. */
export async function dropTriggers(url: string): Promise<void> {
  const sql = connect(url)
  try {
    const triggers = await sql<{ name: string; table: string }[]>`
      select quote_ident(tgname) as name, tgrelid::regclass::text as table from pg_trigger where tgenabled = 'A' and not tgisinternal`
    for (const { name, table } of triggers) await sql.unsafe(`drop trigger ${name} on ${table}`)
  } finally {
    await sql.end()
  }
}

/** The columns that are written, the id first: generated ones are not among them. */
export async function columnsOf(sql: postgres.ISql, table: string): Promise<string[]> {
  const columns = await sql<{ name: string }[]>`
    select quote_ident(attname) as name from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    order by attname <> 'id', attnum`
  return columns.map(({ name }) => name)
}

/** The mark has a later transaction than all rows, and an earlier one than what is written from now on. */
async function mark(sql: postgres.Sql, rows: Rows) {
  await sql`insert into bench.loaded values (${fingerprintOf(rows)})`
  // What is written out here, the shutdown and the first scenario need not write.
  await sql`checkpoint`
}

function fingerprintOf(rows: Rows): string {
  const hash = createHash('sha256').update(JSON.stringify(rows))
  for (const { checksum } of readMigrations(MIGRATIONS)) hash.update(checksum)
  for (const folder of MAKERS) for (const file of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, file)))
  return hash.digest('hex')
}

/** Triggers do not fire: of foreign keys neither, since `src/seed` names rows and copies names as they are. */
function connect(url: string): postgres.Sql {
  const connection = {
    session_replication_role: 'replica',
    synchronous_commit: 'off',
    maintenance_work_mem: '256MB',
    // Parallel workers would need shared memory, which containers have little of. The driver leaves out a number of 0.
    max_parallel_maintenance_workers: '0',
  }
  return postgres(url, { max: 1, onnotice: () => undefined, connection: connection as object })
}
