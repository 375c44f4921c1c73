import type postgres from 'postgres'
import { failureSeries } from '../../src/metrics/counts.ts'
import { until } from './process.ts'

const ROLLBACK = new Error('rolled back')

/** Runs a transaction that is rolled back at its end. */
export async function rolledBack(sql: postgres.Sql, work: (sql: postgres.TransactionSql) => Promise<unknown>): Promise<void> {
  await sql
    .begin(async (transaction) => {
      await work(transaction)
      throw ROLLBACK
    })
    .catch((error) => {
      if (error !== ROLLBACK) throw error
    })
}

/**
 * Calls `ask` after a transaction of `holder` has done its work, and ends the transaction when a statement waits for its locks.
 * `watcher`: another connection to the same database.
 */
export async function besideTransaction<T>(
  { holder, watcher, commits }: { holder: postgres.Sql; watcher: postgres.Sql; commits: boolean },
  work: (sql: postgres.TransactionSql) => Promise<unknown>,
  ask: () => Promise<T>,
): Promise<T> {
  let asked: Promise<T> | undefined
  const hold = async (transaction: postgres.TransactionSql) => {
    await work(transaction)
    const [{ pid } = {}] = await transaction`select pg_backend_pid() as pid`
    asked = ask()
    // Only statements that wait for this transaction count. Autovacuum, for example, may wait for other locks.
    const waiting = () => watcher`select from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and ${pid}::int = any (pg_blocking_pids(pid))`
    await until(async () => (await waiting()).count > 0)
  }
  await (commits ? holder.begin(hold) : rolledBack(holder, hold))
  return asked as Promise<T>
}

/**
 * Repeats a trial until none of its writes exceeds the lock timeout, as any write may on a busy machine. If the other transaction
 * has committed before the repetition, the write sees its changes. The server must run in this process.
 */
export async function withinLockTimeout<T>(trial: () => Promise<T>): Promise<T> {
  for (;;) {
    const [failures] = failureSeries.write.values
    const result = await trial()
    if (failureSeries.write.values[0] === failures) return result
  }
}
