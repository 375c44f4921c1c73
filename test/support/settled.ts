import type postgres from 'postgres'
import { until } from './process.ts'

/** Waits until all changes so far can be read: until every transaction that runs now has ended, in any database. */
export async function untilSettled(sql: postgres.Sql): Promise<void> {
  const [now] = await sql`select pg_current_xact_id()::text as xid`
  await until(async () => {
    const [row] = await sql`select pg_snapshot_xmin(pg_current_snapshot())::text as xmin`
    return BigInt(row?.xmin) > BigInt(now?.xid)
  })
}
