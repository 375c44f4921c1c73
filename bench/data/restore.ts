import postgres from 'postgres'
import { columnsOf } from './load.ts'
import { entities, type Rows } from './rows.ts'

/** What is notified is heard within 50 ms. */
const HEARD_MS = 100

/**
 * Undoes what was written since the rows were loaded, or restored the last time: rows added and changed, names copied from
 * them, the ids given. Clients may stay connected, and must not write meanwhile; servers forget what they know of the tables.
 */
export async function restore(url: string, rows: Rows): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    const touched = await sql.begin(async (transaction) => {
      // No cascades and no checks: the rows have the copies of names too.
      await transaction`set local session_replication_role = replica`
      const changed: string[] = []
      for (const [index, count] of [rows.companies, rows.employees, rows.absences].entries()) {
        const { table } = entities[index] as (typeof entities)[number]
        if ((await restoreTable(transaction, table, count)) > 0) changed.push(table)
      }
      await forget(transaction, changed)
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

/** Makes servers give up what they have in memory of lists of absences. Changes no row. */
export async function forgetLists(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await forget(sql, ['absence'])
  await sql.end()
  await Bun.sleep(HEARD_MS)
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

/** For servers this is a write of an unknown client, of more rows than a notification names. */
async function forget(sql: postgres.ISql, tables: readonly string[]) {
  for (const table of tables) await sql`select pg_notify('roster_change', ${`${table} bench`})`
}
