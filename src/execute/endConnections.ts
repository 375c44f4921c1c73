import { param, sql, toStatement } from '../model/sql.ts'
import type { Database } from './database.ts'

const AGAIN_MS = 250
const ATTEMPTS_MAX = 240

/** Ends the connections of this name, so that a write which was given up is not done long after. Tries it for some minutes. */
export async function endConnections(database: Database, name: string, closed: Promise<void>): Promise<void> {
  const terminate = sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${param(name)}`
  const statement = toStatement(sql`${terminate} and datname = current_database()`)
  await closed
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const rows = await database.read(statement).catch(() => null)
    if (rows !== null) return
    await Bun.sleep(AGAIN_MS)
  }
}
