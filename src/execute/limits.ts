// Limits of execution that depend on each other: times, shares and counts, and the inequalities that hold between them.
import { BATCH_LOCK_MS_MAX } from '../model/batch.ts'

// Times of one statement, from the shortest to the longest.

/**
 * Maximum time that a statement waits for a lock while it has a connection. If time is left, it then waits without a connection.
 * D69
 */
export const LOCK_MS_MAX = 100
/**
 * Maximum time that a list waits for the lock of a table: less than `statement_timeout`, so that it does not end with TooCostly.
 * D39
 */
export const LIST_LOCK_MS_MAX = 2_000
/**
 * `statement_timeout` of connections: PostgreSQL ends a statement after this time, so that none runs much longer than its
 * request. D39
 */
export const STATEMENT_MS_MAX = 3_000
/** Deadline of a request's statement, including the wait for a connection. After it, the client gets 503. D39 */
export const QUERY_MS_MAX = 5_000
/** Interval at which deadlines are checked. So a statement is given up at most this time after its deadline. */
export const DEADLINE_CHECK_MS = 100
/** Time without a byte after which the server closes the connection of a client. A proxy must close idle connections sooner. */
export const CLIENT_IDLE_MS = 30_000

// Connections.

/** Maximum time to open a connection. The driver takes whole seconds. */
export const CONNECT_SECONDS_MAX = 2
/** Pauses between attempts after a lost connection: when one backend crashes, PostgreSQL drops all connections and recovers. */
export const RETRY_PAUSES_MS: readonly number[] = [50, 150, 450]
/**
 * Minimum time for which a host is used before the next one. Without it, each failed statement would open a pool while all hosts
 * refuse.
 */
export const HOST_MS_MIN = 40
/**
 * Average pause of a statement that found a row locked, or no free connection. The pause is random, so that two statements that
 * wait for each other do not meet again.
 */
export const WAIT_PAUSE_MS = 40
/** Longest pause, as a multiple of the average one. */
export const WAIT_PAUSE_FACTOR_MAX = 1.5
/** Number of missed deadlines in a row from which connections count as dead, not slow, and are replaced. */
export const MISSED_IN_ROW_MAX = 4
/**
 * Number of connections that writes leave free. Requests by id, readiness checks and key checks need these while writes wait for
 * locks. D69
 */
export const READ_CONNECTIONS_MIN = 2
/** Interval of attempts to end the connections of a write that was given up. */
export const TERMINATE_EVERY_MS = 250
/** Maximum number of attempts to end the connections of a write that was given up. */
export const TERMINATE_ATTEMPTS_MAX = 240

/**
 * Number of connections for questions about one table. There are as many for questions about several tables. Two are needed
 * because one of them can be waiting for a locked table.
 */
export const QUESTIONS_POOL = 2
/**
 * Number of connections of a worker for copies of tables: those for questions, and one that loads tables and reads the order of
 * texts.
 */
export const MEMORY_CONNECTIONS = 2 * QUESTIONS_POOL + 1

// Reads and writes.

/** Maximum number of statements in flight, of all API keys. Further statements are refused at once. D39 */
export const QUERIES_MAX = 1_000
/** Maximum number of writes in flight, of all API keys. Further writes are refused at once. D39 */
export const WRITES_MAX = 600
/** Maximum number of writes in flight of one API key. Further writes of the key are refused at once. D39 */
export const WRITES_PER_KEY_MAX = 400
/**
 * Share of a write's time after which it is not sent any more: if it were sent later, its outcome could be unknown at its
 * deadline.
 */
export const WRITE_SENT_SHARE = 0.6
/**
 * Time before a read's deadline in which it no longer waits for locks: a missed deadline would count as a sign of dead
 * connections.
 */
export const READ_RESERVE_MS = 240

// Batches.

/** Time after which a batch of reads no longer delays the next batch of its text. */
export const READ_BATCH_MS_MAX = 500
/**
 * Time after which a batch of writes no longer delays the next batch of its text. It is shorter than for reads, because writes
 * can wait for locks.
 */
export const WRITE_BATCH_MS_MAX = 100
/** Maximum number of runs in the first batch of a text. Fast batches raise this maximum, slow batches lower it. */
export const BATCH_RUNS_FIRST = 8
/**
 * Lower bound of the maximum number of runs in a batch. It is two: a single run is not timed as a batch, so a maximum of one
 * could not rise again.
 */
export const BATCH_RUNS_MIN = 2
/** Upper bound of the maximum number of runs in a batch. */
export const BATCH_RUNS_MAX = 64
/** Time of a full batch below which the maximum number of runs is doubled. */
export const BATCH_FAST_MS_MAX = 50
/** Time of a batch above which the maximum number of runs is halved: more than what a busy machine adds to any batch. */
export const BATCH_SLOW_MS_MIN = 250

// Lists.

/**
 * Share of a pool's connections that lists get. It is less than half, because some of the statements on the remaining connections
 * may wait for locks.
 */
export const LISTS_SHARE = 0.45
/** Maximum number of waiting lists, of all API keys. Further lists are refused, because they would miss their deadline. */
export const LISTS_WAITING_MAX = 1_000
/** Maximum number of waiting lists of one API key. Further lists of the key are refused. */
export const LISTS_WAITING_PER_KEY_MAX = 200
/**
 * Maximum time of a list in the shared pool, where statements of the same connection wait for it. After a slower list, the next
 * lists of the same parent row use the list pool.
 */
export const LIST_FAST_MS_MAX = 100
/** Time of a list above which all lists of its kind count as costly for a while. */
export const LIST_COSTLY_MS_MIN = 500
/** Time after which the server first checks if the client of a list has left. Most lists are read by then. */
export const CLIENT_CHECK_MS = 250

// Long writes.

/** Maximum number of long writes of a worker that wait or run. Further long writes are refused at once. */
export const LONG_WRITES_MAX = 8
/** Maximum time to wait for earlier long writes. */
export const LONG_WRITE_WAIT_MS_MAX = 30_000
/** `statement_timeout` of long writes: a rename may take a minute, as docs/api.md says. */
export const LONG_STATEMENT_MS_MAX = 60_000
/** Deadline of a long write, counted from its turn. */
export const LONG_QUERY_MS_MAX = 65_000
/** Longest time that a client waits for the answer to a write. */
export const LONG_WRITE_MS_MAX = LONG_WRITE_WAIT_MS_MAX + LONG_QUERY_MS_MAX

/** Limits by name, and times computed from limits. `RULES` compares them. */
const LIMITS = {
  BATCH_LOCK_MS_MAX,
  LOCK_MS_MAX,
  LIST_LOCK_MS_MAX,
  STATEMENT_MS_MAX,
  QUERY_MS_MAX,
  /** Time after which each client whose statement has not ended has got its 503. */
  QUERY_ENDED_MS: QUERY_MS_MAX + DEADLINE_CHECK_MS,
  CLIENT_IDLE_MS,
  /**
   * Time that all attempts of a statement take if one connection times out, and the others are refused at once.
   */
  ATTEMPTS_MS: 1_000 * CONNECT_SECONDS_MAX + RETRY_PAUSES_MS.reduce((sum, ms) => sum + ms, 0),
  HOST_MS_MIN,
  RETRY_PAUSE_MS_MIN: Math.min(...RETRY_PAUSES_MS),
  QUERIES_MAX,
  WRITES_MAX,
  WRITES_PER_KEY_MAX,
  /** Time after which a write is not sent any more. */
  WRITE_SENT_MS: WRITE_SENT_SHARE * QUERY_MS_MAX,
  /** Latest time at which PostgreSQL says that the row of a write is locked. */
  WRITE_LOCKED_MS: WRITE_SENT_SHARE * QUERY_MS_MAX + LOCK_MS_MAX,
  /** Time that a read takes to pause, and to wait for the lock again. */
  READ_LOCKED_MS: WAIT_PAUSE_FACTOR_MAX * WAIT_PAUSE_MS + LOCK_MS_MAX,
  READ_RESERVE_MS,
  READ_BATCH_MS_MAX,
  WRITE_BATCH_MS_MAX,
  BATCH_RUNS_FIRST,
  BATCH_RUNS_MIN,
  BATCH_RUNS_MAX,
  BATCH_FAST_MS_MAX,
  BATCH_SLOW_MS_MIN,
  LISTS_SHARE,
  LISTS_WAITING_MAX,
  LISTS_WAITING_PER_KEY_MAX,
  LIST_FAST_MS_MAX,
  LIST_COSTLY_MS_MIN,
  CLIENT_CHECK_MS,
  LONG_STATEMENT_MS_MAX,
  LONG_QUERY_MS_MAX,
  LONG_WRITE_MS_MAX,
  /** Time for which the server tries to end the connections of a write that was given up. */
  TERMINATE_MS: TERMINATE_EVERY_MS * TERMINATE_ATTEMPTS_MAX,
}
export type Limits = Readonly<Record<keyof typeof LIMITS, number>>

interface Rule {
  readonly why: string
  /** Limits by name, or numbers. Each must be less than the next. */
  readonly ascending: readonly (keyof Limits | number)[]
  /** True if neighbors may also be equal. Default: false. */
  readonly mayBeEqual?: boolean
}

const RULES: readonly Rule[] = [
  { ascending: ['LOCK_MS_MAX', 'STATEMENT_MS_MAX', 'QUERY_MS_MAX'], why: 'the inner timeout passes first: its error says more' },
  { ascending: ['QUERY_ENDED_MS', 'CLIENT_IDLE_MS'], why: 'a client gets its 503 before its connection is closed' },
  { ascending: ['LIST_LOCK_MS_MAX', 'STATEMENT_MS_MAX'], why: 'a list of a locked table is not answered TooCostly' },
  {
    ascending: ['BATCH_LOCK_MS_MAX', 'LOCK_MS_MAX'],
    mayBeEqual: true,
    why: 'a batch waits for a lock no longer than a single write, since all its writes wait',
  },
  { ascending: [0, 'WRITE_LOCKED_MS', 'QUERY_MS_MAX'], why: 'a write that meets a lock is answered before its deadline' },
  { ascending: ['ATTEMPTS_MS', 'WRITE_SENT_MS'], why: 'a write has the time for all its attempts, if one connection times out' },
  {
    ascending: ['READ_LOCKED_MS', 'READ_RESERVE_MS', 'QUERY_MS_MAX'],
    why: 'a read that meets a lock is answered before its deadline',
  },
  { ascending: ['HOST_MS_MIN', 'RETRY_PAUSE_MS_MIN'], why: 'the second attempt may use another host' },
  {
    ascending: ['WRITES_PER_KEY_MAX', 'WRITES_MAX', 'QUERIES_MAX'],
    why: 'one key leaves writes to others, and writes leave room for reads',
  },
  {
    ascending: ['WRITE_BATCH_MS_MAX', 'READ_BATCH_MS_MAX', 'STATEMENT_MS_MAX'],
    why: 'batches do not wait until a slow one is ended, and writes wait less than reads',
  },
  {
    ascending: [2, 'BATCH_RUNS_MIN', 'BATCH_RUNS_FIRST', 'BATCH_RUNS_MAX'],
    mayBeEqual: true,
    why: 'a batch has two runs or more, and the first one is within the bounds',
  },
  { ascending: ['BATCH_FAST_MS_MAX', 'BATCH_SLOW_MS_MIN', 'STATEMENT_MS_MAX'], why: 'no batch is both fast and slow' },
  { ascending: [0, 'LISTS_SHARE', 0.5], why: 'lists leave most connections to other statements' },
  { ascending: ['LISTS_WAITING_PER_KEY_MAX', 'LISTS_WAITING_MAX'], why: 'lists of one key leave room for those of others' },
  {
    ascending: ['LIST_FAST_MS_MAX', 'CLIENT_CHECK_MS', 'LIST_COSTLY_MS_MIN', 'STATEMENT_MS_MAX'],
    why: 'only slow lists cost a look at their client, and a costly one is known as such before it is ended',
  },
  {
    ascending: ['QUERY_MS_MAX', 'LONG_STATEMENT_MS_MAX', 'LONG_QUERY_MS_MAX', 'LONG_WRITE_MS_MAX'],
    why: 'a long write has more time than other statements, and its inner timeout passes first',
  },
  {
    ascending: ['LONG_STATEMENT_MS_MAX', 'TERMINATE_MS'],
    mayBeEqual: true,
    why: 'the connection of a write that was given up is ended for as long as the write could run',
  },
]

/**
 * Checks the order of limits. `changes`: values in place of some limits. @throws Error with two limits that are in the wrong
 * order
 */
export function checkLimits(changes: Partial<Limits> = {}): void {
  const limits = { ...LIMITS, ...changes }
  for (const { ascending, mayBeEqual = false, why } of RULES) {
    const values = ascending.map((limit) => (typeof limit === 'number' ? limit : limits[limit]))
    for (let index = 1; index < values.length; index++) {
      const lesser = values[index - 1] as number
      const greater = values[index] as number
      if (lesser < greater || (mayBeEqual && lesser === greater)) continue
      const relation = mayBeEqual ? 'at most' : 'less than'
      throw new Error(
        `limits: ${ascending[index - 1]} (${lesser}) must be ${relation} ${ascending[index]} (${greater}), so that ${why}`,
      )
    }
  }
}

checkLimits()
