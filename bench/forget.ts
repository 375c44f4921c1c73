import postgres from 'postgres'

/** What is notified is heard within 50 ms. */
const HEARD_MS = 100

/** What servers have in memory of lists of absences is given up: for them this is a write of an unknown client. It changes no row. */
export async function forgetLists(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  await forgetTables(sql, ['absence'])
  await sql.end()
  await Bun.sleep(HEARD_MS)
}

/**
 * Servers that hear by NOTIFY forget what they know of these tables, once this is committed: it is notified as of a write of
 * more rows than a notification names.
 */
export async function forgetTables(sql: postgres.ISql, tables: readonly string[]): Promise<void> {
  for (const table of tables) await sql`select pg_notify('roster_change', ${`${table} bench`})`
}
