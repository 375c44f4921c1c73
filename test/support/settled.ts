import type postgres from 'postgres'
import { until } from './process.ts'

/** Every line of what has changed until now can be read: none of the transactions of now runs any more, of whichever database. */
export async function untilSettled(sql: postgres.Sql): Promise<void> {
  const [now] = await sql`select pg_current_xact_id()::text as xid`
  await until(async () => {
    const [row] = await sql`select pg_snapshot_xmin(pg_current_snapshot())::text as xmin`
    return BigInt(row?.xmin) > BigInt(now?.xid)
  })
}
