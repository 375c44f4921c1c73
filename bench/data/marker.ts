import { createHash } from 'node:crypto'
import type postgres from 'postgres'
import { copyLine } from './copy.ts'
import type { Rows } from './table.ts'
import { tables } from './tables.ts'

const SAMPLE_ROWS = 2_000

/**
 * Notes in a new database that these rows are there, whole. Its row has a later transaction than all of them, and an
 * earlier one than whatever is written from now on.
 */
export async function markLoaded(sql: postgres.Sql, rows: Rows): Promise<void> {
  const bytes = await bytesOf(sql)
  await sql`create schema bench`
  await sql`create table bench.loaded (rows text not null, bytes bigint not null)`
  await sql`insert into bench.loaded (rows, bytes) values (${fingerprint(rows)}, ${bytes})`
}

/** Gives the note a new transaction, since what was restored has one. */
export async function markRestored(sql: postgres.Sql): Promise<void> {
  await sql`update bench.loaded set rows = rows`
}

/** Whether the rows of these counts, as the generator makes them now, were loaded to the end. */
export async function isLoaded(sql: postgres.Sql, rows: Rows): Promise<boolean> {
  const [there] = await sql`select to_regclass('bench.loaded') is not null as yes`
  if (!there?.yes) return false
  const [loaded] = await sql<{ rows: string }[]>`select rows from bench.loaded`
  return loaded?.rows === fingerprint(rows)
}

/** What the tables take, with their indexes. */
export async function bytesOf(sql: postgres.Sql): Promise<number> {
  const names = tables.map(({ name }) => name)
  const [sum] = await sql<{ bytes: string }[]>`
    select sum(pg_total_relation_size(name::regclass)) as bytes from unnest(${names}::text[]) as name`
  return Number(sum?.bytes)
}

export async function bytesWhenLoaded(sql: postgres.Sql): Promise<number> {
  const [loaded] = await sql<{ bytes: string }[]>`select bytes from bench.loaded`
  return Number(loaded?.bytes)
}

/** Another one for other counts, and for a generator that makes other rows. */
function fingerprint(rows: Rows): string {
  const hash = createHash('sha256').update(JSON.stringify(rows))
  for (const { name, columns, count, row } of tables) {
    hash.update(`${name} ${columns}\n`)
    for (let id = 1; id <= Math.min(SAMPLE_ROWS, count(rows)); id++) hash.update(copyLine(row(id, rows)))
  }
  return hash.digest('hex')
}
