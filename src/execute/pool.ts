// Opens and closes pools of connections to PostgreSQL, and ends connections whose writes were given up.
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { param, type Statement, sql, toStatement } from '../model/sql.ts'
import { connectTo } from './connect.ts'
import { checkDriver, PreparePolicy, TEXT_TYPES } from './driver.ts'
import { HOST_MS_MIN, STATEMENT_MS_MAX, TERMINATE_ATTEMPTS_MAX, TERMINATE_EVERY_MS } from './limits.ts'

export interface PoolOptions {
  url: string
  poolSize: number
  /**
   * False behind a pooler in transaction mode: the next statement may use a connection that does not have the prepared statement.
   */
  prepare: boolean
  /**
   * True behind a pooler: it may refuse settings, and other programs may use connections of the same name. Default: not
   * `prepare`.
   */
  isPooled?: boolean
  /** Prefix of the names of connections. A connection whose write was given up is found and ended by its name. */
  name?: string
  /** `statement_timeout` of the connections in ms. Default: `STATEMENT_MS_MAX`. */
  statementMsMax?: number
  /**
   * `lock_timeout` of the connections in ms. Default, and behind a pooler: a statement waits for a lock as long as it may run.
   */
  lockMsMax?: number
}

/** Connections that are opened as they are needed, and replaced together. */
export type Pool = ReturnType<typeof openPool>

/**
 * Returns a pool, which opens a connection when a statement needs one. `number`: part of the connections' name; 0 for the first
 * pool, 1 for the pool that replaces it, and so on. `hostIndex`: index of the host in the address.
 */
export function openPool(options: PoolOptions, number: number, hostIndex: number) {
  const { url, poolSize, prepare, isPooled = !prepare, name, statementMsMax = STATEMENT_MS_MAX, lockMsMax } = options
  const connections = name === undefined ? 'roster' : `${name}/${number}`
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>()
  const pool = connectTo(url, {
    hostIndex,
    max: poolSize,
    // No pipelining: PgBouncer releases its connection to the database at the end of a statement, and a Parse that was pipelined
    // after that statement is never answered.
    ...(isPooled ? { max_pipeline: 0 } : {}),
    prepare,
    types: TEXT_TYPES,
    connection: {
      application_name: connections,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      statement_timeout: statementMsMax,
      // A pooler would refuse `lock_timeout`, or ignore it if an operator has allowed it there.
      ...(lockMsMax === undefined || isPooled ? {} : { lock_timeout: lockMsMax }),
      // Compiling a plan by JIT costs more than any of our statements.
      jit: 'off',
    },
  })
  checkDriver(pool)
  return {
    sql: pool,
    connections,
    resolveClosed,
    prepared: new PreparePolicy(prepare),
    isRetired: false,
    hasHosts: readDatabaseUrl(url).hosts.length > 1,
    number,
    hostIndex,
    /** Time by `performance.now()` until which the pool is not replaced by a pool of the next host. */
    keptUntilMs: number === 0 ? 0 : performance.now() + HOST_MS_MIN,
    hasAnswered: false,
    /** Resolves when the pool's connections are closed, so that nothing more is sent over them. */
    closed,
    /** Queries that have neither ended nor missed their deadline. */
    running: 0,
  }
}

/** Closes the connections at once. Queries that still run over them fail. */
export function closePool({ sql, resolveClosed }: Pool) {
  sql.end({ timeout: 0 }).then(resolveClosed, resolveClosed)
}

/**
 * Ends the connections of this name once `closed` has resolved, so that PostgreSQL does not do a write long after it was given
 * up. Tries again until an attempt succeeds, for at least a minute.
 */
export async function endConnections(
  database: { read(statement: Statement): Promise<unknown> },
  name: string,
  closed: Promise<void>,
): Promise<void> {
  const terminate = sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${param(name)}`
  const statement = toStatement(sql`${terminate} and datname = current_database()`)
  await closed
  for (let attempt = 1; attempt <= TERMINATE_ATTEMPTS_MAX; attempt++) {
    if (await database.read(statement).catch(() => null)) return
    await Bun.sleep(TERMINATE_EVERY_MS)
  }
}
