import { describe, expect, test } from 'bun:test'
import { RETRY_PAUSES_MS } from '../../src/execute/limits.ts'
import { type FailedAttempt, type NextStep, nextStep } from '../../src/execute/nextStep.ts'
import type { Verdict } from '../../src/execute/outcomes.ts'

const LAST = RETRY_PAUSES_MS.length
const read = { attempt: 1, isRepeatable: true, mayWaitForLock: true, hasFallback: false }
const write = { ...read, isRepeatable: false }
const batch = { ...write, mayWaitForLock: false }

describe('the next step after a statement that failed', () => {
  test.each<[name: string, verdict: Verdict, Omit<FailedAttempt, 'verdict'>, NextStep]>([
    ['a write that ran into a lock waits for it', 'locked', write, 'waitForLock'],
    ['a batch that ran into a lock fails, so that its runs are sent one by one', 'locked', batch, 'fail'],
    ['a write waits for a lock, however often it has waited', 'locked', { ...write, attempt: LAST + 9 }, 'waitForLock'],
    ['a statement without a connection waits for one', 'noConnection', write, 'waitForConnection'],
    ['a list without a connection goes to the fallback', 'noConnection', { ...read, hasFallback: true }, 'useFallback'],
    ['a read whose connection was lost is sent again', 'lost', read, 'retryAfterPause'],
    ['D44: a write whose connection was lost may have been done, and fails', 'lost', write, 'fail'],
    [
      'D44: a write with an Idempotency-Key whose connection was lost is sent again',
      'lost',
      { ...write, isRepeatable: true },
      'retryAfterPause',
    ],
    ['a write that was not sent is sent again', 'notSent', write, 'retryAfterPause'],
    ['a write that was rolled back because of a deadlock is sent again at once', 'rolledBack', write, 'retry'],
    ['a statement that was not sent gets a last attempt', 'notSent', { ...write, attempt: LAST }, 'retryAfterPause'],
    ['a read whose connection was lost fails after the last attempt', 'lost', { ...read, attempt: LAST + 1 }, 'fail'],
    [
      'a write that was rolled back because of a deadlock fails after the last attempt',
      'rolledBack',
      { ...write, attempt: LAST + 1 },
      'fail',
    ],
    ['a statement that PostgreSQL refuses is not sent again', 'refused', read, 'fail'],
    ['a write that a constraint refuses is not sent again', 'constraint', write, 'fail'],
    ['a statement that fails because of a fault of this program is not sent again', 'fault', read, 'fail'],
  ])('%s', (_, verdict, attempt, expected) => {
    expect(nextStep({ verdict, ...attempt })).toBe(expected)
  })
})
