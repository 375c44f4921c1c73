import { describe, expect, test } from 'bun:test'
import { checkLimits, type Limits } from '../../src/execute/limits.ts'

test('checkLimits accepts the limits of statements as they are', () => {
  expect(() => checkLimits()).not.toThrow()
})

describe('checkLimits refuses limits that contradict each other:', () => {
  test.each<[name: string, Partial<Limits>, message: string]>([
    ['a lock timeout as long as the statement timeout', { LOCK_MS_MAX: 3_000 }, 'LOCK_MS_MAX (3000) must be less than'],
    [
      'a statement timeout beyond the deadline of a query',
      { STATEMENT_MS_MAX: 6_000 },
      'STATEMENT_MS_MAX (6000) must be less than QUERY_MS_MAX',
    ],
    [
      'a deadline that is not before the idle timeout of the client’s connection',
      { CLIENT_IDLE_MS: 5_000 },
      'must be less than CLIENT_IDLE_MS (5000)',
    ],
    ['a batch that waits longer for a lock than a single write', { BATCH_LOCK_MS_MAX: 101 }, 'must be at most LOCK_MS_MAX (100)'],
    ['a lock timeout of lists as long as the statement timeout', { LIST_LOCK_MS_MAX: 3_000 }, 'is not answered TooCostly'],
    ['a write that may wait for a lock until its deadline', { WRITE_LOCKED_MS: 5_000 }, 'must be less than QUERY_MS_MAX (5000)'],
    ['attempts that take longer than the time to send a write', { ATTEMPTS_MS: 3_000 }, 'must be less than WRITE_SENT_MS (3000)'],
    [
      'a retry pause as long as the time that reads keep for the retry',
      { READ_RESERVE_MS: 100 },
      'must be less than READ_RESERVE_MS (100)',
    ],
    [
      'a minimum time at a host as long as the first retry pause',
      { HOST_MS_MIN: 50 },
      'must be less than RETRY_PAUSE_MS_MIN (50)',
    ],
    ['as many writes of one key as of all keys', { WRITES_PER_KEY_MAX: 600 }, 'must be less than WRITES_MAX (600)'],
    ['as many writes as statements in total', { WRITES_MAX: 1_000 }, 'must be less than QUERIES_MAX (1000)'],
    ['a minimum of one run per batch', { BATCH_RUNS_MIN: 1 }, '2 (2) must be at most BATCH_RUNS_MIN (1)'],
    ['a share of half of the connections for lists', { LISTS_SHARE: 0.5 }, 'must be less than 0.5'],
    [
      'as many waiting lists of one key as of all keys',
      { LISTS_WAITING_PER_KEY_MAX: 1_000 },
      'must be less than LISTS_WAITING_MAX',
    ],
    [
      'a threshold for costly lists as long as the statement timeout',
      { LIST_COSTLY_MS_MIN: 3_000 },
      'must be less than STATEMENT_MS_MAX',
    ],
    [
      'a deadline of long writes as long as their statement timeout',
      { LONG_QUERY_MS_MAX: 60_000 },
      'must be less than LONG_QUERY_MS_MAX',
    ],
    [
      'less time for attempts to end a given-up write than it may run',
      { TERMINATE_MS: 59_999 },
      'must be at most TERMINATE_MS (59999)',
    ],
  ])('%s', (_, changes, message) => {
    expect(() => checkLimits(changes)).toThrow(message)
  })
})
