// Settings of a write's transaction: the API key that triggers copy into change events (D77), and a lock timeout.
import { BATCH_LOCK_MS_MAX } from '../model/batch.ts'
import { integer, type Param, type Sql, sql } from '../model/sql.ts'

/** Sets `roster.key` for the transaction, in a condition that is always true. */
export function setAuditKey(keyId: Param): Sql {
  return sql`(select set_config('roster.key', ${keyId}, true)) is not null`
}

/** As `setAuditKey`, for a batch, which waits at most `BATCH_LOCK_MS_MAX` for locks. */
export function setAuditKeyAndLockTimeout(keyId: Param): Sql {
  const timeout = sql`set_config('lock_timeout', '${integer(BATCH_LOCK_MS_MAX)}', true)`
  return sql`(select ${timeout} || set_config('roster.key', ${keyId}, true)) is not null`
}
