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

/** What it shows of one write. */
export interface Standing extends State {
  readonly status: 'committed' | 'aborted' | 'in progress' | 'to come'
  /** Where its log ended; null: it is a standby. All that it shows stands before. */
  readonly logEnd: bigint | null
}

/** After this time a failover, or another database in its place, is looked for. */
const FRESH_MS = 10_000
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
function standingOf(transaction: number) {
  const asked = sql`${param(String(transaction))}::text::xid8`
  const seen = sql`case when ${asked} < next then coalesce(pg_xact_status(${asked}), 'committed') else 'to come' end`
  return toStatement(sql`
select (pg_control_system()).system_identifier::text || ' ' || (select oid from pg_database where datname = current_database()),
  ${TIMELINE}::text, pg_is_in_recovery(), oldest::text, next::text, ${seen}, ${LOG_END}
from (select pg_snapshot_xmin(seen), pg_snapshot_xmax(seen) from pg_current_snapshot() as seen) as now (oldest, next)`)
}

/** No transaction: asks for the rest alone. */
const NONE = 0

/** The positions of writes, as answers say them, and what the database shows of them. D54 */
export class Positions {
  private state: State | null = null
  private askedMs = Number.NEGATIVE_INFINITY
  private readonly asking = new Together(() => this.look(NONE))
  /** What this process has written, or found to be there. */
  private readonly known = new Float64Array(KNOWN_MAX)

  constructor(private readonly database: Database) {}

  /**
   * The position of a write that was answered, and of `others` too; null: the database does not say which one it is.
   * `transaction`: as the write has returned it, maybe modulo 2^32.
   */
  of(transaction: string, others: readonly number[]): string | Promise<string | null> {
    const { state } = this
    // What has taken a write is no standby any more.
    if (state === null || state.isStandby)
      return this.now().then((found) => found && this.print(transaction, others, found))
    if (performance.now() - this.askedMs > FRESH_MS) this.now()
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
  shows(transaction: number): boolean {
    return this.known[transaction & (KNOWN_MAX - 1)] === transaction
  }

  /** What the database shows of a write. @throws ApiError when it does not answer */
  async look(transaction: number): Promise<Standing> {
    const [row] = await this.database.read(standingOf(transaction))
    const [name, timeline, isStandby, oldest, next, status, logEnd] = row as string[]
    const standing = {
      database: new Bun.CryptoHasher('sha256')
        .update(name as string)
        .digest('hex')
        .slice(0, 10),
      timeline: Number(timeline),
      isStandby: isStandby === 't',
      oldest: Number(oldest),
      next: Number(next),
      status: status as Standing['status'],
      logEnd: logEnd == null ? null : BigInt(logEnd),
    }
    this.learn(standing)
    // A standby that starts again may show less for a while.
    if (standing.status === 'committed' && !standing.isStandby) this.know(transaction)
    return standing
  }

  private learn(state: State) {
    const before = this.state
    if (before && (before.database !== state.database || before.timeline !== state.timeline)) this.known.fill(0)
    this.state = state
    this.askedMs = performance.now()
  }

  private now(): Promise<State | null> {
    this.askedMs = performance.now()
    return this.asking.ask().catch(() => null)
  }

  private print(transaction: string, others: readonly number[], { database, timeline, next }: State): string {
    const own = widened(Number(transaction), next)
    this.know(own)
    const transactions = [own, ...others.filter((other) => other !== own)].slice(0, TRANSACTIONS_MAX)
    return printPosition({ database, timeline, transactions })
  }

  private know(transaction: number) {
    this.known[transaction & (KNOWN_MAX - 1)] = transaction
  }
}

/** The transaction of this number, which may be counted modulo 2^32, near to one that is known. */
function widened(transaction: number, near: number): number {
  return transaction >= TURN ? transaction : near + ((transaction - near) | 0)
}
