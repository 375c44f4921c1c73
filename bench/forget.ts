import postgres from 'postgres'
import { LEASE } from './silence.ts'

/** Writers elsewhere are heard of within 50 ms. */
const HEARD_MS = 100

/**
 * What servers have in memory of lists of absences is given up: for them this is a write of an unknown client. It
 * changes no row.
 */
export async function forgetLists(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined, connection: LEASE })
  await sql`update absence set status = status where false`
  await sql.end()
  await Bun.sleep(HEARD_MS)
}
