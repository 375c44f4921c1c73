import { type Position, printPosition, TRANSACTIONS_MAX } from '../model/position.ts'
import { param, sql, toStatement } from '../model/sql.ts'
import type { Database } from './database.ts'
import { Together } from './together.ts'

/** Which database it is, and what it shows at the moment. */
interface State {
  readonly database: string
  readonly timeline: number
  readonly isStandby: boolean
  /** The work of all transactions before it is there, or was undone. */
  readonly oldest: number
  /** The first transaction that cannot have ended. */
  readonly next: number
}

/** What it shows of writes. */
export interface Standing extends State {
  /** Of each that was asked for. */
  readonly statuses: readonly ('committed' | 'aborted' | 'in progress' | 'to come')[]
  /** Where its log ended; null: it is a standby. All that it shows stands before. */
  readonly logEnd: bigint | null
}

/** After this time a failover, or another database in its place, is looked for, also where no connection was lost: a pooler keeps them. */
const FRESH_MS = 2_000
/** A position that does not fit is held against the database of now, unless that was asked so lately. */
const JUST_ASKED_MS = 100
/** So many transactions are known by themselves; a power of two. */
const KNOWN_MAX = 4_096
/** Transactions of rows are counted modulo this. */
const TURN = 2 ** 32

const TIMELINE = sql`case when pg_is_in_recovery()
  then (select greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline))
  else ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int end`
const LOG_END = sql`case when not pg_is_in_recovery() then (pg_current_wal_insert_lsn() - '0/0')::text end`

/**
 * A transaction that has ended is 'committed' only once every snapshot sees it, on a standby too. Of one whose end PostgreSQL
 * has forgotten only writes that were answered are asked for, so it is committed. The log's end is read behind the snapshot.
 */
function standingOf(transactions: readonly number[]) {
  const status = sql`case when asked < next then coalesce(pg_xact_status(asked), 'committed') else 'to come' end`
  const asked = sql`unnest(${param(`{${transactions.join()}}`)}::text::xid8[]) with ordinality as those (asked, place)`
  return toStatement(sql`
select (pg_control_system()).system_identifier::text || ' ' || (select oid from pg_database where datname = current_database()),
  ${TIMELINE}::text, pg_is_in_recovery(), oldest::text, next::text, (select string_agg(${status}, ',' order by place) from ${asked}), ${LOG_END}
from (select pg_snapshot_xmin(seen), pg_snapshot_xmax(seen) from pg_current_snapshot() as seen) as now (oldest, next)`)
}

/** The positions of writes, as answers say them, and what the database shows of them. D54 */
export class Positions {
  private state: State | null = null
  private askedMs = Number.NEGATIVE_INFINITY
  /** When that was asked for. */
  private learntMs = Number.NEGATIVE_INFINITY
  private readonly asking = new Together(() => this.look([]))
  /** What this process has written, or found to be there. */
  private readonly known = new Float64Array(KNOWN_MAX)
  /** How many connections had ended when that was known. */
  private closed = 0

  constructor(private readonly database: Database) {}

  /**
   * The position of a write that was answered, and of `others` too; null: the database does not say which one it is.
   * `transaction`: as the write has returned it, maybe modulo 2^32.
   */
  of(transaction: string, others: readonly Position[]): string | Promise<string | null> {
    this.forgetIfClosed()
    const { state } = this
    // What has taken a write is no standby any more.
    if (state === null || state.isStandby)
      return this.now().then((found) => found && this.print(transaction, others, found))
    if (!this.isFresh && performance.now() - this.askedMs > FRESH_MS) this.now()
    this.know(widened(Number(transaction), state.next))
    return this.print(transaction, others, state)
  }

  /** Whether the position is of this database, as far as that is known. */
  async isOwn({ database }: Position): Promise<boolean> {
    if (this.state?.database === database) return true
    if (this.state !== null && performance.now() - this.askedMs < JUST_ASKED_MS) return false
    const state = await this.asking.ask()
    return state.database === database
  }

  /** Whether the database shows the write, without asking it. */
  shows({ database, timeline }: Position, transaction: number): boolean {
    this.forgetIfClosed()
    // Behind a failover a number may be given to another write.
    const isOfNow = this.state?.database === database && this.state.timeline === timeline
    return isOfNow && this.isFresh && this.known[transaction & (KNOWN_MAX - 1)] === transaction
  }

  /** What the database shows of writes. @throws ApiError when it does not answer */
  async look(transactions: readonly number[]): Promise<Standing> {
    this.forgetIfClosed()
    this.askedMs = performance.now()
    const { askedMs } = this
    const [row] = await this.database.read(standingOf(transactions))
    const [name, timeline, isStandby, oldest, next, statuses, logEnd] = row as string[]
    const standing = {
      database: new Bun.CryptoHasher('sha256')
        .update(name as string)
        .digest('hex')
        .slice(0, 10),
      timeline: Number(timeline),
      isStandby: isStandby === 't',
      oldest: Number(oldest),
      next: Number(next),
      statuses: (statuses?.split(',') ?? []) as Standing['statuses'],
      logEnd: logEnd == null ? null : BigInt(logEnd),
    }
    this.learn(standing, askedMs)
    // A standby that starts again may show less for a while.
    if (!standing.isStandby)
      for (const [index, status] of standing.statuses.entries())
        if (status === 'committed') this.know(transactions[index] as number)
    return standing
  }

  private get isFresh(): boolean {
    return performance.now() - this.learntMs <= FRESH_MS
  }

  /** A failover ends connections, and may lose writes that were known. */
  private forgetIfClosed() {
    const { closed } = this.database
    if (closed === this.closed) return
    this.closed = closed
    this.state = null
    this.known.fill(0)
  }

  private learn(state: State, askedMs: number) {
    const before = this.state
    if (before && (before.database !== state.database || before.timeline !== state.timeline)) this.known.fill(0)
    this.state = state
    this.learntMs = askedMs
  }

  private now(): Promise<State | null> {
    return this.asking.ask().catch(() => null)
  }

  /** Of the earliest timeline: writes of an earlier one than the own may have been lost. */
  private print(transaction: string, others: readonly Position[], { database, timeline, next }: State): string {
    const own = widened(Number(transaction), next)
    const here = others.filter((other) => other.database === database)
    const transactions = [...new Set([own, ...here.flatMap((other) => other.transactions)])]
    const first = Math.min(timeline, ...here.map((other) => other.timeline))
    return printPosition({ database, timeline: first, transactions: transactions.slice(0, TRANSACTIONS_MAX) })
  }

  private know(transaction: number) {
    this.known[transaction & (KNOWN_MAX - 1)] = transaction
  }
}

/** The transaction of this number, which may be counted modulo 2^32, near to one that is known. */
function widened(transaction: number, near: number): number {
  return transaction >= TURN ? transaction : near + ((transaction - near) | 0)
}
