import postgres from 'postgres'
import { columnsOf } from './load.ts'
import { entities, type Rows } from './rows.ts'

/**
 * Undoes what was written since the rows were loaded, or restored the last time: rows added and changed, names copied from
 * them, the ids given. Clients may stay connected, and must not write meanwhile.
 */
export async function restore(url: string, rows: Rows): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    const touched = await sql.begin(async (transaction) => {
      // No cascades and no checks: the rows have the copies of names too.
      await transaction`set local session_replication_role = replica`
      // No lines of what has changed, either.
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
    // Restored rows have a later transaction than the mark.
    await sql`update bench.loaded set fingerprint = fingerprint`
    await sql`checkpoint`
  } finally {
    await sql.end()
  }
}

/** Returns how many rows were set back. */
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
