// Connections to PostgreSQL: how they are opened, closed and ended, and which statements they prepare.
import { readDatabaseUrl } from '../model/databaseUrl.ts'
import { LruCache } from '../model/lruCache.ts'
import { param, type Statement, sql, toStatement } from '../model/sql.ts'
import { connectTo } from './connect.ts'
import { checkDriver, TEXT_TYPES } from './driver.ts'
import { HOST_MS_MIN, STATEMENT_MS_MAX, TERMINATE_ATTEMPTS_MAX, TERMINATE_EVERY_MS } from './limits.ts'

export interface PoolOptions {
  url: string
  poolSize: number
  /** False behind a pooler in transaction mode, where a prepared statement may be on another connection. */
  prepare: boolean
  /** A pooler is between: connections take no settings of ours, and have no name that is ours alone. Default: not `prepare`. */
  isPooled?: boolean
  /** Prefix of the names of its connections, by which those with a write that was given up are ended. */
  name?: string
  /** For how long PostgreSQL itself lets a statement run; default: 3 s. */
  statementMsMax?: number
  /** For how long a statement may wait for a lock; default, and behind a pooler: as long as it may run. */
  lockMsMax?: number
}

/** Connections that are opened as they are needed, and replaced together. */
export type Pool = ReturnType<typeof openPool>

/** Opens the pool with this number; connections are opened as they are needed.  */
export function openPool(options: PoolOptions, number: number, hostIndex: number) {
  const { url, poolSize, prepare, isPooled = !prepare, name, statementMsMax = STATEMENT_MS_MAX, lockMsMax } = options
  const connections = name === undefined ? 'roster' : `${name}/${number}`
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>()
  const pool = connectTo(url, {
    hostIndex,
    max: poolSize,
    // No pipelining: PgBouncer releases its connection to the database at the end of a statement, and a Parse that was pipelined
    // behind that statement is never answered.
    ...(isPooled ? { max_pipeline: 0 } : {}),
    prepare,
    types: TEXT_TYPES,
    connection: {
      application_name: connections,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      statement_timeout: statementMsMax,
      // A pooler would refuse it, unless an operator lets it through to no effect.
      ...(lockMsMax === undefined || isPooled ? {} : { lock_timeout: lockMsMax }),
      // Compiling a plan costs more than any of our statements.
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
    /** By `performance.now()`: until then no other host is tried. */
    keptUntilMs: number === 0 ? 0 : performance.now() + HOST_MS_MIN,
    hasAnswered: false,
    /** Resolves when nothing can be sent over its connections any more. */
    closed,
    /** Queries that have neither ended nor missed their deadline. */
    running: 0,
  }
}

/** Closes at once: queries that still run there were given up. */
export function closePool({ sql, resolveClosed }: Pool) {
  sql.end({ timeout: 0 }).then(resolveClosed, resolveClosed)
}

/** Each prepared statement takes memory on both sides of every connection, and is never dropped. */
const PREPARED_MAX = 200
const CANDIDATES_MAX = 2_000
/** A text that is used once or twice is not worth a statement on every connection. */
const USES_MIN = 3

/** Decides which statements are prepared, since the driver never drops one. */
export class PreparePolicy {
  private readonly prepared = new Set<string>()
  /** Uses of texts that are not prepared. */
  private readonly candidates = new LruCache<number>(CANDIDATES_MAX, () => 1)

  constructor(private readonly enabled: boolean) {}

  /** Returns whether `text` is to be prepared; counts this as a use of it. */
  shouldPrepare(text: string): boolean {
    if (!this.enabled) return false
    if (this.prepared.has(text)) return true
    const uses = (this.candidates.get(text) ?? 0) + 1
    if (uses >= USES_MIN) this.prepared.add(text)
    else this.candidates.set(text, uses)
    return uses >= USES_MIN
  }

  /** True when the connections hold as many statements as they should ever hold. */
  get isFull(): boolean {
    return this.prepared.size >= PREPARED_MAX
  }
}

/** Ends the connections of this name, so that a write which was given up is not done long after. Tries it for some minutes. */
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
