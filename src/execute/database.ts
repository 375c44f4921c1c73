// Runs statements over a bounded pool: batches, retries, deadlines.
import { cellOf, count, countStatement, failureCells } from '../metrics/counts.ts'
import type { KindOfStatement } from '../metrics/declared.ts'
import type { BatchableStatement } from '../model/batch.ts'
import type { Row, Statement } from '../model/sql.ts'
import { Batcher } from './batcher.ts'
import { Deadlines, QUERY_MS_MAX } from './deadlines.ts'
import { type DriverQuery, type Execution, Sending } from './execution.ts'
import { busyWithWrites, classify, errorFor, isUnknown, outcomeUnknown, unavailable, type Verdict } from './outcomes.ts'
import { closePool, HOLDING, openPool, type Pool, type PoolOptions } from './pool.ts'
import { Turns } from './turns.ts'

export interface DatabaseOptions extends PoolOptions {
  /** Kind in metrics; default: read or write, by the statement. */
  kind?: Extract<KindOfStatement, 'list' | 'longWrite'>
  /** Gets the text of each statement, in which no value stands, and how long it took. */
  onStatement?(text: string, ms: number): void
  /** Waiting for a connection included; default: 5 s. */
  queryMsMax?: number
  /** Writes over connections of this name were given up, and may still be done; after `closed` no more are sent. */
  onOutcomeUnknown?(connections: string, closed: Promise<void>): void
  /** Runs what PostgreSQL has no connection for while this pool has none at all; default: it waits for one. */
  spare?: Database
}

const RENEWALS = cellOf('renewals')
/** After this time statements no longer wait for an earlier batch of their text; for writes sooner, since they meet locks. */
const [READING_MS_MAX, WRITING_MS_MAX] = [500, 100]
/** Pauses between attempts after a lost connection: when one backend crashes, PostgreSQL drops all connections and recovers. */
const PAUSES_MS = [50, 150, 450]
/** Share of a write's time in which it may be sent: later its outcome could be unknown at the deadline. */
const SENT_SHARE = 0.6
/** Connections on which no write waits for a lock: reads by id, readiness and keys have these. */
const READS_MIN = 2
/** Maximum queries in flight, maximum writes among them, and maximum writes of one key; more are refused at once. */
const [QUERIES_MAX, WRITES_MAX, WRITES_OF_ONE_MAX] = [1_000, 600, 400]
/** Pause without a connection where a lock, or a connection, was not there in time: at random, so that two do not meet again. */
const PAUSE_MS = 40
/** After this many missed deadlines in a row the connections are dead, not slow, and are replaced. */
const STUCK_MAX = 4

/** A bounded pool of connections to PostgreSQL. */
export class Database {
  private pool: Pool
  private readonly queryMsMax: number
  private readonly deadlines: Deadlines
  private readonly reads: Batcher
  private readonly writes: Batcher
  /** Turns of writes at the connections: a key that writes what is locked holds up its own writes alone. */
  private readonly turns: Turns
  /** Writes in flight by API key, including those that wait for a batch. */
  private readonly writesOf = new Map<string, number>()
  private writing = 0
  private inFlight = 0
  private stuck = 0
  private hasWritten = false
  private isEnded = false
  /** Error of PostgreSQL while statements wait for a connection; null: none waits. */
  private refusal: unknown = null

  constructor(private readonly options: DatabaseOptions) {
    this.queryMsMax = options.queryMsMax ?? QUERY_MS_MAX
    this.deadlines = new Deadlines(this.queryMsMax)
    this.turns = new Turns(Math.max(1, options.poolSize - READS_MIN))
    const run = (execution: Execution) => this.run(execution)
    this.reads = new Batcher(run, this.queryMsMax, READING_MS_MAX)
    this.writes = new Batcher(run, SENT_SHARE * this.queryMsMax, WRITING_MS_MAX)
    this.pool = openPool(this.options, 0, 0)
  }

  /** Runs a statement that changes nothing, again after a lost connection. @throws ApiError 500, 503 */
  read(statement: BatchableStatement): Promise<Row[]> {
    return this.admit(() => this.reads.ask(statement))
  }

  /** As `read`, by itself, sent by `untilMs` or not at all. `onSent` gets what says which backend runs it, null: none yet. */
  readAlone(statement: Statement, untilMs: number, onSent: (backend: () => number | null) => void): Promise<Row[]> {
    const follower = { handOver: (query: DriverQuery) => onSent(() => query.state?.pid ?? null) }
    return this.admit(() => this.run({ statement, untilMs, mayWait: true, sending: null, follower }))
  }

  /** Runs a statement, again only when it certainly had no effect. @throws ApiError 500, 503; ConstraintViolation */
  async write(statement: BatchableStatement): Promise<Row[]> {
    const { keyId: asker = '' } = statement
    const others = this.writesOf.get(asker) ?? 0
    if (others >= WRITES_OF_ONE_MAX || this.writing >= WRITES_MAX) throw busyWithWrites()
    this.writing++
    this.writesOf.set(asker, others + 1)
    const sending = new Sending()
    const ask = statement.batch
      ? () => this.writes.ask(statement, sending)
      : () => this.run({ statement, untilMs: performance.now() + SENT_SHARE * this.queryMsMax, mayWait: true, sending })
    try {
      return await this.admit(ask, sending, Boolean(statement.claim))
    } finally {
      this.writing--
      const left = (this.writesOf.get(asker) as number) - 1
      if (left === 0) this.writesOf.delete(asker)
      else this.writesOf.set(asker, left)
    }
  }

  /** Statements under way: requested, and handed to the driver. */
  get load(): { queries: number; sent: number } {
    return { queries: this.inFlight, sent: this.pool.running }
  }

  /** Closes the connections; queries that still run get ServiceUnavailable. */
  async end(): Promise<void> {
    this.isEnded = true
    closePool(this.pool)
    await this.pool.closed
  }

  /** Refuses queries past QUERIES_MAX; gives up each one at its deadline, batched or not. */
  private async admit(ask: () => Promise<Row[]>, sending: Sending | null = null, hasKey = false): Promise<Row[]> {
    if (this.inFlight >= QUERIES_MAX) throw unavailable(new Error('too many queries wait for the database'))
    this.inFlight++
    const { pool } = this
    try {
      return await this.deadlines.race(ask(), () => this.missed(pool, sending, hasKey))
    } finally {
      this.inFlight--
    }
  }

  private async run(execution: Execution): Promise<Row[]> {
    const { statement, untilMs, sending } = execution
    let locked: unknown = null
    for (let attempt = 1; ; attempt++) {
      if (sending) sending.isWaiting = true
      const release = sending ? await this.turns.take(statement.keyId ?? '') : null
      if (sending) sending.isWaiting = false
      if (performance.now() >= untilMs) {
        release?.()
        const cause = locked ?? unavailable(this.refusal)
        throw errorFor(cause, locked === null ? 'refused' : 'locked', execution, this.hasWritten)
      }
      if (this.pool.shapes.full) this.renew()
      const { pool } = this
      try {
        const sent = this.attempt(execution, pool)
        const rows = await (release === null ? sent : sent.finally(release))
        this.refusal = null
        return rows
      } catch (error) {
        const verdict = this.verdictOn(error, execution, pool)
        if (sending && isUnknown(error, verdict)) {
          // PostgreSQL may have done it, or may still do it, and the answer is lost.
          sending.isUnknown = true
          this.options.onOutcomeUnknown?.(pool.connections, pool.closed)
          if (this.pool === pool && !this.isEnded) this.renew()
        }
        sending?.end()
        if (this.isEnded) throw errorFor(error, verdict, execution, this.hasWritten)
        const isLocked = verdict === 'locked' && (sending === null ? this.options.kind !== 'list' : execution.mayWait)
        // Gives up shortly before the deadline: a missed one would count as a sign of dead connections.
        if (isLocked && sending === null && performance.now() > untilMs - 6 * PAUSE_MS)
          throw errorFor(error, verdict, execution, this.hasWritten)
        if (isLocked || verdict === 'crowded') {
          const { spare } = this.options
          if (!isLocked && spare && pool.running === 0) return spare.run(execution)
          // Nothing was done: another statement may leave its lock, or its connection.
          if (isLocked) locked = error
          else this.refusal = error
          if (sending) sending.isWaiting = true
          await Bun.sleep(PAUSE_MS * (0.5 + Math.random()))
          attempt--
          continue
        }
        const isUnreached = verdict === 'notSent' && pool.hasHosts
        // The driver can take many seconds to replace a lost connection; a new pool takes none.
        if ((verdict === 'lost' || isUnreached) && this.pool === pool) this.renew(isUnreached)
        const again = verdict === 'rolledBack' || verdict === 'notSent' || (verdict === 'lost' && (!sending || statement.claim))
        if (!again || attempt > PAUSES_MS.length) throw errorFor(error, verdict, execution, this.hasWritten)
        if (verdict !== 'rolledBack') await Bun.sleep(PAUSES_MS[attempt - 1] as number)
      }
    }
  }

  private async attempt(execution: Execution, pool: Pool): Promise<Row[]> {
    const { statement, mayWait, sending, follower = sending } = execution
    // `simple: false`, since without it a statement without parameters would never be prepared.
    const holding = mayWait || sending ? HOLDING : null
    const options = { simple: false, ...holding, prepare: pool.shapes.shouldPrepare(statement.text) } as object
    const query = pool.sql.unsafe(statement.text, statement.values as string[], options)
    execution.query = query as unknown as DriverQuery
    follower?.handOver(execution.query, pool)
    pool.running++
    const startMs = performance.now()
    let isAnswered = false
    try {
      const rows = await this.deadlines.race(query.values() as unknown as Promise<Row[]>, () => unavailable())
      this.stuck = 0
      isAnswered = true
      pool.hasAnswered = true
      if (sending) this.hasWritten = true
      sending?.end()
      // After a query that failed amid its rows, the driver leaves as many entries empty at the start of the next answer.
      return rows.length > 0 && rows[0] === undefined ? rows.filter(Boolean) : rows
    } finally {
      pool.running--
      const { onStatement, kind = sending === null ? 'read' : 'write' } = this.options
      const ms = performance.now() - startMs
      countStatement(kind, ms)
      if (!isAnswered) count(failureCells[kind])
      onStatement?.(statement.text, ms)
      if (pool.isRetired && pool.running === 0) closePool(pool)
    }
  }

  /** Verdict on an error of a statement: one that no connection has taken was not sent, and may go to another host. */
  private verdictOn(error: unknown, { sending, query }: Execution, { hasHosts }: Pool): Verdict {
    const verdict = classify(error)
    if (hasHosts && query?.state === null && (verdict === 'lost' || verdict === 'refused')) return 'notSent'
    if (!sending?.isUnsent || !isUnknown(error, verdict)) return verdict
    if (verdict !== 'lost') this.withdraw(sending)
    return 'notSent'
  }

  private missed(pool: Pool, sending: Sending | null, hasKey: boolean): Error {
    if (sending?.isHeldUp && !sending.mayBeDone) return busyWithWrites()
    if (sending) this.withdraw(sending)
    const cause = this.refusal ?? new Error('a query missed its deadline')
    // One frozen pool misses many deadlines at once; they must not count against the pool that has replaced it.
    if (this.refusal === null && this.pool === pool && ++this.stuck >= STUCK_MAX) this.renew()
    return sending?.mayBeDone ? outcomeUnknown(cause, hasKey) : unavailable(cause)
  }

  /** A connection that opens for a statement that was taken back stays without use, so the statement's pool is replaced. */
  private withdraw(sending: Sending) {
    if (sending.withdraw() === this.pool && !this.isEnded) this.renew()
  }

  /** Replaces the connections: the old ones end with their last query. `isOther`, or if none has answered: by the next host's. */
  private renew(isOther = false) {
    const old = this.pool
    if (isOther && performance.now() < old.keptUntilMs) return
    try {
      this.pool = openPool(this.options, old.number + 1, old.turn + Number(isOther || !old.hasAnswered))
    } catch {
      return // The file of sslrootcert is being replaced; the old connections, which have read it, serve on.
    }
    count(RENEWALS)
    this.stuck = 0
    old.isRetired = true
    if (old.running === 0) closePool(old)
  }
}
