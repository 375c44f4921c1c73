import postgres from 'postgres'
import { markLoaded } from './marker.ts'
import type { Rows } from './table.ts'

/**
 * What a team would make for the scenarios of new lists, and for nothing else: status and range in the order of the
 * answer, and all that the four conditions look at, so that PostgreSQL counts both without a look at the rows.
 */
const INDEXES: Readonly<Record<string, string>> = {
  absence_new_lists: 'absence (status, start, id)',
  absence_new_conditions: 'absence (start, id) include (type, period_hours)',
}

/** Adds the indexes to a copy of a loaded database, which nothing else uses. */
export async function addIndexes(url: string, rows: Rows): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connection: { maintenance_work_mem: '256MB', max_parallel_maintenance_workers: '0' },
  })
  try {
    // A server that has ended would be one that listens on another machine: each write would notify it.
    await sql`delete from change_listener`
    for (const [name, columns] of Object.entries(INDEXES)) await sql.unsafe(`create index ${name} on ${columns}`)
    await sql`vacuum (analyze) absence`
    await sql`drop schema bench cascade`
    await markLoaded(sql, rows)
    await sql`checkpoint`
  } finally {
    await sql.end()
  }
}

/** Whether the database has these indexes, as they are made now. */
export async function hasIndexes(sql: postgres.Sql): Promise<boolean> {
  const found = await sql<{ definition: string }[]>`
    select pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid = 'absence'::regclass and indexrelid::regclass::text = any (${Object.keys(INDEXES)})`
  const made = found.map(({ definition }) => definition.replace(/^.* ON public\.(\w+) USING btree/, '$1'))
  return Object.values(INDEXES).every((columns) => made.some((one) => one.toLowerCase() === columns))
}
