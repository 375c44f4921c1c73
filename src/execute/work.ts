import type { Batchable } from '../model/batch.ts'
import type { Follower, Sending } from './sending.ts'
import type { Observe } from './writeObserver.ts'

/** A statement on its way. */
export interface Work {
  readonly statement: Batchable
  readonly observe: Observe | null
  /** It may be sent again though it may have been done. */
  readonly repeatable: boolean
  /** Nothing is sent after that: by then its client has a 503 that says nothing was done, and may try again. */
  readonly untilMs: number
  /** For a lock. */
  readonly mayWait: boolean
  /** Of a write; null: it changes nothing. */
  readonly sending: Sending | null
  readonly follower: Follower | null
}

/** A write. */
function writeOf(
  statement: Batchable,
  observe: Observe | null,
  untilMs: number,
  mayWait: boolean,
  sending: Sending,
): Work {
  const repeatable = Boolean(statement.once)
  return { statement, observe, repeatable, untilMs, mayWait, sending, follower: sending }
}

/** What changes nothing, and waits for no lock. */
function readOf(statement: Batchable, untilMs: number): Work {
  return { statement, observe: null, repeatable: true, untilMs, mayWait: false, sending: null, follower: null }
}

/** A statement's work; without `sending` it changes nothing. */
export function workOf(
  statement: Batchable,
  observe: Observe | null,
  untilMs: number,
  mayWait: boolean,
  sending: Sending | null,
): Work {
  return sending ? writeOf(statement, observe, untilMs, mayWait, sending) : readOf(statement, untilMs)
}
