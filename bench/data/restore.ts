import postgres from 'postgres'
import { forgetTables } from '../forget.ts'
import { copyRows } from './copy.ts'
import { bytesOf, bytesWhenLoaded, markRestored } from './marker.ts'
import type { Rows, Table } from './table.ts'
import { tables } from './tables.ts'

/** Where tables and indexes have grown by more, they are written anew. */
const GROWTH_MAX = 1.25

/**
 * Undoes what was written since the rows were loaded, or restored the last time: rows added, changed and deleted, names
 * copied from them, the ids given. Clients may stay connected, and must not write meanwhile; servers forget what they know of the
 * tables, since of what is undone they may not have heard. Returns the rows undone.
 */
export async function restore(url: string, rows: Rows): Promise<number> {
  const sql = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connection: { maintenance_work_mem: '256MB' } as object,
  })
  try {
    const { touched, rows: undone } = await sql.begin(async (transaction) => {
      // No cascades and no checks: the generator knows the copies of names too.
      await transaction`set local session_replication_role = replica`
      const counts: [table: string, undone: number][] = []
      for (const table of tables) counts.push([table.name, await restoreTable(transaction, table, rows)])
      const undone = counts.filter(([, count]) => count > 0)
      const touched = undone.map(([table]) => table)
      await forgetTables(transaction, touched)
      return { touched, rows: undone.reduce((sum, [, count]) => sum + count, 0) }
    })
    if (touched.length > 0) await tidy(sql, touched)
    return undone
  } finally {
    await sql.end()
  }
}

async function restoreTable(sql: postgres.TransactionSql, table: Table, rows: Rows): Promise<number> {
  const count = table.count(rows)
  const { count: added } = await sql`delete from ${sql(table.name)} where id not between 1 and ${count}`
  const ids = [...(await changedIds(sql, table)), ...(await missingIds(sql, table, count))]
  if (ids.length > 0) await writeAgain(sql, table, rows, ids)
  await sql`select setval(pg_get_serial_sequence(${table.name}, 'id'), ${count})`
  return added + ids.length
}

/** A row that was written after the mark has a later transaction than the mark's own row. */
async function changedIds(sql: postgres.TransactionSql, { name }: Table): Promise<number[]> {
  const changed = await sql<{ id: string }[]>`
    select id from ${sql(name)} where age(xmin) < (select age(xmin) from bench.loaded)`
  return changed.map(({ id }) => Number(id))
}

async function missingIds(sql: postgres.TransactionSql, { name }: Table, count: number): Promise<number[]> {
  const [there] = await sql<{ count: string }[]>`select count(*) from ${sql(name)}`
  if (Number(there?.count) === count) return []
  const missing = await sql<{ id: number }[]>`
    select id from generate_series(1, ${count}::int) as id except select id from ${sql(name)}`
  return missing.map(({ id }) => Number(id))
}

async function writeAgain(sql: postgres.TransactionSql, table: Table, rows: Rows, ids: readonly number[]) {
  const columns = table.columns.map((column) => `"${column}"`)
  const target = `restored_${table.name}`
  await sql.unsafe(`create temp table ${target} on commit drop as select ${columns} from ${table.name} with no data`)
  await copyRows(sql, target, { table, rows, ids })
  await sql.unsafe(`analyze ${target}`)
  const values = columns.map((column) => `${target}.${column}`)
  const stored = columns.map((column) => `${table.name}.${column}`)
  const settable = columns.slice(1)
  await sql.unsafe(`
    update ${table.name} set (${settable}) = row (${values.slice(1)}) from ${target}
    where ${target}.id = ${table.name}.id and row (${stored}) is distinct from row (${values})`)
  await sql.unsafe(`
    insert into ${table.name} (${columns}) overriding system value select ${columns} from ${target}
    where not exists (select from ${table.name} where ${table.name}.id = ${target}.id)`)
}

/** Leaves no dead rows, nor much room where they were. */
async function tidy(sql: postgres.Sql, touched: readonly string[]) {
  for (const table of touched) await sql`vacuum (analyze) ${sql(table)}`
  if ((await bytesOf(sql)) > GROWTH_MAX * (await bytesWhenLoaded(sql)))
    for (const { name } of tables) {
      await sql.unsafe(`cluster ${name} using ${name}_pk`)
      await sql`vacuum (analyze) ${sql(name)}`
    }
  await markRestored(sql)
  await sql`checkpoint`
}
