// Settings of the transaction that writes set: the API key that triggers copy into change events (D77), and a lock timeout.
import { type Param, type Sql, sql } from '../model/sql.ts'

/** A condition that is always true, and sets `roster.key` for the transaction. */
export function setAuditKey(keyId: Param): Sql {
  return sql`(select set_config('roster.key', ${keyId}, true)) is not null`
}

/**
 * As `setAuditKey`, for a batch: waits at most 100 ms for locks. Then its runs are sent one by one, so that only those of locked
 * rows wait.
 */
export function setAuditKeyAndLockTimeout(keyId: Param): Sql {
  return sql`(select set_config('lock_timeout', '100', true) || set_config('roster.key', ${keyId}, true)) is not null`
}
