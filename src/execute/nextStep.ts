// The step after a statement failed: wait, send the statement again, or fail.
import { RETRY_PAUSES_MS } from './limits.ts'
import type { Verdict } from './outcomes.ts'

/** A failed attempt to execute a statement. */
export interface FailedAttempt {
  readonly verdict: Verdict
  /** Number of this attempt, from 1; waits for locks and connections do not count. */
  readonly attempt: number
  /** True if the statement has no effect when it is done a second time: a read, or a write with an Idempotency-Key. */
  readonly isRepeatable: boolean
  /** True if the statement may wait for a lock, and has time left to wait. */
  readonly mayWaitForLock: boolean
  /** True if this pool has no connection, and the fallback database can run the statement. */
  readonly hasFallback: boolean
}

/**
 * Step after a failed attempt. `waitForLock`, `waitForConnection`: pause and send the statement again, until its time is over.
 * `useFallback`: hand it to the fallback database. `retry`: send it again at once. `retryAfterPause`: send it again after a
 * pause. `fail`: answer with the error.
 */
export type NextStep = 'waitForLock' | 'waitForConnection' | 'useFallback' | 'retry' | 'retryAfterPause' | 'fail'

/** Returns the next step. A write that may have been done is sent again only if it is repeatable. */
export function nextStep({ verdict, attempt, isRepeatable, mayWaitForLock, hasFallback }: FailedAttempt): NextStep {
  if (verdict === 'locked') return mayWaitForLock ? 'waitForLock' : 'fail'
  if (verdict === 'noConnection') return hasFallback ? 'useFallback' : 'waitForConnection'
  if (attempt > RETRY_PAUSES_MS.length) return 'fail'
  if (verdict === 'rolledBack') return 'retry'
  if (verdict === 'notSent') return 'retryAfterPause'
  if (verdict === 'lost' && isRepeatable) return 'retryAfterPause'
  return 'fail'
}
