// Runs statements over a bounded pool: batches, retries, deadlines.
import { count, countStatement, failureSeries, seriesOf } from '../metrics/counts.ts'
import type { KindOfStatement } from '../metrics/declared.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Row, Statement } from '../model/sql.ts'
import { Deadlines } from '../os/time.ts'
import { Batcher, type Execution, WriteProgress } from './batcher.ts'
import { type DriverQuery, queryOf, withoutHoles } from './driver.ts'
import { FairSemaphore } from './fairSemaphore.ts'
import {
  DEADLINE_CHECK_MS,
  MISSED_IN_ROW_MAX,
  QUERIES_MAX,
  QUERY_MS_MAX,
  READ_BATCH_MS_MAX,
  READ_CONNECTIONS_MIN,
  READ_RESERVE_MS,
  RETRY_PAUSES_MS,
  WAIT_PAUSE_FACTOR_MAX,
  WAIT_PAUSE_MS,
  WRITE_BATCH_MS_MAX,
  WRITE_SENT_SHARE,
  WRITES_MAX,
  WRITES_PER_KEY_MAX,
} from './limits.ts'
import { type FailedAttempt, nextStep } from './nextStep.ts'
import { busyWithWrites, classify, errorFor, isUnknown, outcomeUnknown, unavailable, type Verdict } from './outcomes.ts'
import { closePool, openPool, type Pool, type PoolOptions } from './pool.ts'

export interface DatabaseOptions extends PoolOptions {
  /** Label of the pool's statements in metrics. Default: read or write, by the statement. */
  kind?: Extract<KindOfStatement, 'list' | 'longWrite'>
  /**
   * True: a read that meets a lock fails after `lockMsMax`; false: it is sent again later. Default: true only for a pool of
   * lists.
   */
  failsAtLocks?: boolean
  /** Called after each statement with its text, which has no values, and the time in ms that it took. */
  onStatement?(text: string, ms: number): void
  /** Maximum time of a statement in ms, including the wait for a connection. Default: `QUERY_MS_MAX`. */
  queryMsMax?: number
  /**
   * Called when the server gave up writes that PostgreSQL may still execute. `connections`: application name of the connections
   * of these writes. No write is sent over these connections once `closed` has resolved.
   */
  onOutcomeUnknown?(connections: string, closed: Promise<void>): void
  /**
   * Database that runs this pool's statements while PostgreSQL gives the pool no connection. Default: the statements wait for
   * one.
   */
  fallback?: Database
}

const RENEWALS = seriesOf('renewals')

/** A bounded pool of connections to PostgreSQL. */
export class Database {
  private pool: Pool
  private readonly queryMsMax: number
  private readonly deadlines: Deadlines
  private readonly reads: Batcher
  private readonly writes: Batcher
  /** Shares connections among API keys that write: a key that writes locked rows delays only its own writes. */
  private readonly writeSemaphore: FairSemaphore
  /** Number of writes in flight by API key, including those that wait for a batch. */
  private readonly writesOf = new Map<string, number>()
  /** Number of writes in flight of all API keys. */
  private writing = 0
  /** Number of reads and writes in flight. */
  private inFlight = 0
  /** Number of missed deadlines since the last answer. */
  private missedInRow = 0
  /** True once a write has succeeded: the database is no standby. */
  private hasWritten = false
  private isEnded = false
  /** PostgreSQL's last refusal of a connection; null if none has been refused since the last answer. */
  private refusal: unknown = null

  constructor(private readonly options: DatabaseOptions) {
    this.queryMsMax = options.queryMsMax ?? QUERY_MS_MAX
    this.deadlines = new Deadlines(this.queryMsMax, DEADLINE_CHECK_MS)
    this.writeSemaphore = new FairSemaphore(Math.max(1, options.poolSize - READ_CONNECTIONS_MIN))
    const run = (execution: Execution) => this.run(execution)
    this.reads = new Batcher(run, READ_BATCH_MS_MAX)
    this.writes = new Batcher(run, WRITE_BATCH_MS_MAX)
    this.pool = openPool(this.options, 0, 0)
  }

  /** Runs a statement that changes nothing. Sends it again after a lost connection. @throws ApiError 500, 503 */
  read(statement: BatchableStatement): Promise<Row[]> {
    return this.admit(() => this.reads.ask(statement, performance.now() + this.queryMsMax))
  }

  /**
   * Runs a read by itself, never in a batch, sent before `untilMs` or not at all. `onSent` gets a function that returns the
   * process id of the backend that runs the read; null: no backend runs it.
   */
  readUnbatched(statement: Statement, untilMs: number, onSent: (backend: () => number | null) => void): Promise<Row[]> {
    const listener = { onDispatch: (query: DriverQuery) => onSent(() => query.state?.pid ?? null) }
    return this.admit(() => this.run({ statement, untilMs, mayWaitForLock: true, progress: null, listener }))
  }

  /**
   * Runs a statement that writes. Sends it again only if the write cannot be done twice. @throws ApiError 500, 503;
   * ConstraintViolation
   */
  async write(statement: BatchableStatement): Promise<Row[]> {
    const { keyId = '' } = statement
    const others = this.writesOf.get(keyId) ?? 0
    if (others >= WRITES_PER_KEY_MAX || this.writing >= WRITES_MAX) throw busyWithWrites()
    this.writing++
    this.writesOf.set(keyId, others + 1)
    const progress = new WriteProgress()
    const untilMs = performance.now() + WRITE_SENT_SHARE * this.queryMsMax
    const ask = statement.batch
      ? () => this.writes.ask(statement, untilMs, progress)
      : () => this.run({ statement, untilMs, mayWaitForLock: true, progress })
    try {
      return await this.admit(ask, progress, Boolean(statement.claim))
    } finally {
      this.writing--
      const left = (this.writesOf.get(keyId) as number) - 1
      if (left === 0) this.writesOf.delete(keyId)
      else this.writesOf.set(keyId, left)
    }
  }

  /** `queries`: number of statements in flight. `sent`: number of statements that the driver has. */
  get load(): { queries: number; sent: number } {
    return { queries: this.inFlight, sent: this.pool.running }
  }

  /** Closes the connections; queries that still run get ServiceUnavailable. */
  async end(): Promise<void> {
    this.isEnded = true
    closePool(this.pool)
    await this.pool.closed
  }

  /**
   * Answers each statement by its deadline, whether it runs by itself or in a batch. @throws ApiError 503 at once if too many
   * statements are in flight
   *
   * A list has three deadlines. They begin at different times, and none can be derived from the two others.
   * - The deadline of `ListReads` begins when a client asks, and ends the client's wait, which can be a wait for a connection.
   * - This deadline begins when the statement may be sent, and ends the wait for the statement, in a batch or between two
   *   attempts. Missed deadlines are a sign of frozen connections. If a list had the deadline of its clients here, it would miss
   *   this deadline whenever it was sent late.
   * - The deadline of `send` begins with each attempt, and ends the use of its connection. If `send` had the deadline of this
   *   function, a slow write that was sent late would lose its connection. Its outcome would then be unknown, although
   *   `statement_timeout` soon ends it.
   */
  private async admit(ask: () => Promise<Row[]>, progress: WriteProgress | null = null, hasClaim = false): Promise<Row[]> {
    if (this.inFlight >= QUERIES_MAX) throw unavailable(new Error('too many queries wait for the database'))
    this.inFlight++
    const { pool } = this
    try {
      return await this.deadlines.race(ask(), () => this.missed(pool, progress, hasClaim))
    } finally {
      this.inFlight--
    }
  }

  /** Runs a statement. After a failure, sends it again if this may help and can do no harm. */
  private async run(execution: Execution): Promise<Row[]> {
    const { progress } = execution
    // Error of the last attempt that found a row locked; null: no row was locked.
    let lockError: unknown = null
    let attempt = 1
    for (;;) {
      const release = await this.acquireForWrite(execution)
      if (performance.now() >= execution.untilMs) {
        release?.()
        throw this.failure(execution, lockError ?? unavailable(this.refusal), lockError === null ? 'refused' : 'locked')
      }
      if (this.pool.prepared.isFull) this.replacePool()
      const { pool } = this
      let error: unknown
      try {
        return await this.send(execution, pool)
      } catch (caught) {
        error = caught
      } finally {
        release?.()
      }
      const verdict = this.verdictOn(error, execution, pool)
      if (progress && isUnknown(error, verdict)) this.noteUnknown(progress, pool)
      progress?.end()
      if (this.isEnded) throw this.failure(execution, error, verdict)
      this.replacePoolAfter(verdict, pool)
      switch (nextStep(this.failedAttempt(execution, pool, verdict, attempt))) {
        case 'fail':
          throw this.failure(execution, error, verdict)
        case 'useFallback':
          return (this.options.fallback as Database).run(execution)
        case 'waitForLock':
          lockError = error
          await this.pause(progress)
          break
        case 'waitForConnection':
          this.refusal = error
          await this.pause(progress)
          break
        case 'retryAfterPause':
          await Bun.sleep(RETRY_PAUSES_MS[attempt - 1] as number)
          attempt++
          break
        case 'retry':
          attempt++
      }
    }
  }

  /**
   * Waits until the API key of a write may use one more connection. Returns the function that gives the connection back; null for
   * reads.
   */
  private async acquireForWrite({ statement, progress }: Execution): Promise<(() => void) | null> {
    if (progress === null) return null
    progress.waitsInProcess = true
    const release = await this.writeSemaphore.take(statement.keyId ?? '')
    progress.waitsInProcess = false
    return release
  }

  /** Pauses without a connection, for a random time, so that two statements that wait for each other do not meet again. */
  private async pause(progress: WriteProgress | null): Promise<void> {
    if (progress) progress.waitsInProcess = true
    await Bun.sleep(WAIT_PAUSE_MS * (WAIT_PAUSE_FACTOR_MAX - Math.random()))
  }

  private failedAttempt(execution: Execution, pool: Pool, verdict: Verdict, attempt: number): FailedAttempt {
    const { statement, progress, mayWaitForLock, untilMs } = execution
    const { kind, failsAtLocks = kind === 'list' } = this.options
    // A read gives up shortly before its deadline: a missed deadline would count as a sign of dead connections.
    const hasTime = progress !== null || performance.now() <= untilMs - READ_RESERVE_MS
    return {
      verdict,
      attempt,
      isRepeatable: progress === null || Boolean(statement.claim),
      mayWaitForLock: hasTime && (progress === null ? !failsAtLocks : mayWaitForLock),
      hasFallback: this.options.fallback !== undefined && pool.running === 0,
    }
  }

  private failure({ progress, statement }: Execution, error: unknown, verdict: Verdict): Error {
    const write = progress && { isUnknown: progress.isUnknown, hasKey: Boolean(statement.claim) }
    return errorFor(error, verdict, write, this.hasWritten)
  }

  /** Notes that PostgreSQL may have done the write, or may still do it, and that the answer is lost. */
  private noteUnknown(progress: WriteProgress, pool: Pool) {
    progress.isUnknown = true
    this.options.onOutcomeUnknown?.(pool.connections, pool.closed)
    if (this.pool === pool && !this.isEnded) this.replacePool()
  }

  /**
   * Replaces a pool that lost a connection, because the driver can take many seconds to open another connection. If a statement
   * could not be sent and the address has more hosts, the new pool uses the next host.
   */
  private replacePoolAfter(verdict: Verdict, pool: Pool) {
    if (this.pool !== pool) return
    if (verdict === 'lost') this.replacePool()
    else if (verdict === 'notSent' && pool.hasHosts) this.replacePool(true)
  }

  /** Sends a statement over a connection of the pool, once. */
  private async send(execution: Execution, pool: Pool): Promise<Row[]> {
    const { statement, mayWaitForLock, progress, listener = progress } = execution
    const query = queryOf(pool.sql, statement, {
      prepare: pool.prepared.shouldPrepare(statement.text),
      isExclusive: mayWaitForLock || progress !== null,
    })
    execution.query = query
    listener?.onDispatch(query, pool)
    pool.running++
    const startMs = performance.now()
    let isAnswered = false
    try {
      // Without this deadline a write on a frozen connection would never give back its permit, nor let its pool close.
      const rows = await this.deadlines.race(query, () => unavailable())
      isAnswered = true
      this.refusal = null
      this.missedInRow = 0
      pool.hasAnswered = true
      if (progress) this.hasWritten = true
      progress?.end()
      return withoutHoles(rows)
    } finally {
      pool.running--
      const { onStatement, kind = progress === null ? 'read' : 'write' } = this.options
      const ms = performance.now() - startMs
      countStatement(kind, ms)
      if (!isAnswered) count(failureSeries[kind])
      onStatement?.(statement.text, ms)
      if (pool.isRetired && pool.running === 0) closePool(pool)
    }
  }

  /**
   * Returns the verdict on an error. A statement that no connection has taken was not sent, so it may be sent to the next host.
   */
  private verdictOn(error: unknown, { progress, query }: Execution, { hasHosts }: Pool): Verdict {
    const verdict = classify(error)
    if (hasHosts && query?.state === null && (verdict === 'lost' || verdict === 'refused')) return 'notSent'
    if (!progress?.isUnsent || !isUnknown(error, verdict)) return verdict
    if (verdict !== 'lost') this.cancelUnsent(progress)
    return 'notSent'
  }

  /**
   * Returns the error of a statement that missed its deadline. Replaces the connections after too many missed deadlines in a row.
   */
  private missed(pool: Pool, progress: WriteProgress | null, hasClaim: boolean): Error {
    if (progress?.isWaiting && !progress.mayBeDone) return busyWithWrites()
    if (progress) this.cancelUnsent(progress)
    const cause = this.refusal ?? new Error('a query missed its deadline')
    // One frozen pool misses many deadlines at once. These must not count against the pool that has replaced it.
    if (this.refusal === null && this.pool === pool && ++this.missedInRow >= MISSED_IN_ROW_MAX) this.replacePool()
    return progress?.mayBeDone ? outcomeUnknown(cause, hasClaim) : unavailable(cause)
  }

  /**
   * Cancels a write that no connection has taken. The connection that is being opened for it would stay unused, so the pool is
   * replaced.
   */
  private cancelUnsent(progress: WriteProgress) {
    if (progress.cancelUnsent() === this.pool && !this.isEnded) this.replacePool()
  }

  /**
   * Opens a new pool, and closes the old pool after its last query. The new pool uses the next host if `toNextHost` is true, or
   * if the old pool never got an answer.
   */
  private replacePool(toNextHost = false) {
    const old = this.pool
    if (toNextHost && performance.now() < old.keptUntilMs) return
    try {
      this.pool = openPool(this.options, old.number + 1, old.hostIndex + Number(toNextHost || !old.hasAnswered))
    } catch {
      return // The file of sslrootcert is being replaced. The old connections have read it, and stay in use.
    }
    count(RENEWALS)
    this.missedInRow = 0
    old.isRetired = true
    if (old.running === 0) closePool(old)
  }
}
