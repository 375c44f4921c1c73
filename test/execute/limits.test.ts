import { describe, expect, test } from 'bun:test'
import { checkLimits, type Limits } from '../../src/execute/limits.ts'

test('checkLimits accepts the limits of statements as they are', () => {
  expect(() => checkLimits()).not.toThrow()
})

describe('checkLimits refuses limits that contradict each other:', () => {
  test.each<[name: string, Partial<Limits>, message: string]>([
    ['a lock timeout as long as a statement may take', { LOCK_MS_MAX: 3_000 }, 'LOCK_MS_MAX (3000) must be less than'],
    [
      'a statement longer than its deadline',
      { STATEMENT_MS_MAX: 6_000 },
      'STATEMENT_MS_MAX (6000) must be less than QUERY_MS_MAX',
    ],
    ['a deadline after the connection is closed', { CLIENT_IDLE_MS: 5_000 }, 'must be less than CLIENT_IDLE_MS (5000)'],
    ['a batch that waits longer than a write', { BATCH_LOCK_MS_MAX: 101 }, 'must be at most LOCK_MS_MAX (100)'],
    ['a list that waits for a lock until it is ended', { LIST_LOCK_MS_MAX: 3_000 }, 'is not answered TooCostly'],
    ['a write sent too late', { WRITE_LOCKED_MS: 5_000 }, 'must be less than QUERY_MS_MAX (5000)'],
    ['attempts that take longer than a write has', { ATTEMPTS_MS: 3_000 }, 'must be less than WRITE_SENT_MS (3000)'],
    ['a read that pauses until its deadline', { READ_RESERVE_MS: 100 }, 'must be less than READ_RESERVE_MS (100)'],
    ['a stay at a host beyond the first pause', { HOST_MS_MIN: 50 }, 'must be less than RETRY_PAUSE_MS_MIN (50)'],
    ['as many writes of one key as of all', { WRITES_PER_KEY_MAX: 600 }, 'must be less than WRITES_MAX (600)'],
    ['as many writes as statements', { WRITES_MAX: 1_000 }, 'must be less than QUERIES_MAX (1000)'],
    ['batches of one run', { BATCH_RUNS_MIN: 1 }, '2 (2) must be at most BATCH_RUNS_MIN (1)'],
    ['half of the connections for lists', { LISTS_SHARE: 0.5 }, 'must be less than 0.5'],
    ['as many waiting lists of one key as of all', { LISTS_WAITING_PER_KEY_MAX: 1_000 }, 'must be less than LISTS_WAITING_MAX'],
    ['a costly list that is ended before it is known', { LIST_COSTLY_MS_MIN: 3_000 }, 'must be less than STATEMENT_MS_MAX'],
    ['a long write with less time than its statement', { LONG_QUERY_MS_MAX: 60_000 }, 'must be less than LONG_QUERY_MS_MAX'],
    ['a given-up write that outlives the attempts to end it', { TERMINATE_MS: 59_999 }, 'must be at most TERMINATE_MS (59999)'],
  ])('%s', (_, changes, message) => {
    expect(() => checkLimits(changes)).toThrow(message)
  })
})
