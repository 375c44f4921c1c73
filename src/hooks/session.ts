// The sender's connection to the database, which holds the sender's lock.
import type postgres from 'postgres'
import { type ConnectOptions, openFirst } from '../execute/connect.ts'
import { parametersOf } from '../execute/driver.ts'
import type { ChangesToken } from '../model/changesToken.ts'
import type { Row, Statement } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import type { Subscription } from './rights.ts'

/** An active hook as stored, with its position in the feed; times in ms since 1970. */
export interface Hook extends Subscription {
  readonly id: string
  readonly url: string
  readonly secret: string
  /** Number of the hook's version, which changes whenever an operator changes the hook. */
  readonly revision: string
  checkpoint: ChangesToken
  /** Time of the first failure since the last success; null if deliveries succeed. */
  failingSinceMs: number | null
  attempts: number
  nextAttemptMs: number | null
}

export type HookStates = Readonly<Record<'active' | 'paused' | 'parked', number>>

/** Advisory lock of the sender; an arbitrary number that no other program is likely to use. */
const SENDER_LOCK = '7067837114'
const QUERY_MS_MAX = 10_000
/**
 * Options of the connection: PostgreSQL ends the connection, and frees the lock, a minute after the sender's machine has become
 * silent.
 */
const OPTIONS: ConnectOptions = {
  connection: {
    application_name: 'roster hooks',
    // PostgreSQL prints times of changes in UTC, as for GET /Changes.
    TimeZone: 'UTC',
    DateStyle: 'ISO',
    statement_timeout: 5_000,
    tcp_keepalives_idle: 30,
    tcp_keepalives_interval: 10,
    tcp_keepalives_count: 3,
    tcp_user_timeout: 60_000,
  },
}

/** The connection of a schema's sender. Its advisory lock, which only one sender can hold, ends with the connection. */
export class Session {
  private term = ''

  private constructor(
    private readonly sql: postgres.Sql,
    private readonly losing: AbortController,
  ) {}

  static async open(url: string): Promise<Session> {
    const losing = new AbortController()
    const onclose = () => losing.abort()
    return new Session(await openFirst(url, { ...OPTIONS, onclose } as ConnectOptions), losing)
  }

  /** Signal that aborts when the connection is lost or closed. */
  get lost(): AbortSignal {
    return this.losing.signal
  }

  /**
   * Tries to become the sender. Returns `none` if no hook is active or the database is read-only, and `waiting` if another
   * process is the sender.
   */
  async elect(): Promise<'none' | 'waiting' | 'sender'> {
    const [row] = await this.run(
      (sql) => sql<{ isAny: boolean; isSender: boolean }[]>`
        with any_hook as materialized (
          select exists (select from hook where state = 'active') and not pg_is_in_recovery()
            and current_setting('transaction_read_only') = 'off' as yes
        )
        select yes as "isAny", case when yes then pg_try_advisory_lock(
          ${SENDER_LOCK}::bigint + case (select relnamespace::regnamespace::text from pg_class where oid = 'hook'::regclass)
            when 'public' then 0 else 'hook'::regclass::oid::bigint end
        ) else false end as "isSender" from any_hook`,
    )
    if (!row?.isAny) return 'none'
    if (!row.isSender) return 'waiting'
    // This statement fails without the right to update hooks: a sender that cannot save its position would deliver the same
    // events again.
    const [elected] = await this.run(
      (sql) => sql`
        with noting as (update hook set run = run where false) update hook_sender set term = term + 1 returning term::text`,
    )
    this.term = elected?.term
    return 'sender'
  }

  /** Reads the secret that seals tokens. @throws Error if the database has no secret */
  async secret(): Promise<string> {
    const [row] = await this.run((sql) => sql<{ secret: string }[]>`select secret from cursor_secret`)
    if (!row) throw new Error('the table cursor_secret is empty')
    return row.secret
  }

  async states(): Promise<HookStates> {
    const rows = await this.run((sql) => sql`select state, count(*)::int from hook group by state`)
    return { active: 0, paused: 0, parked: 0, ...Object.fromEntries(rows.map(({ state, count }) => [state, count])) }
  }

  hooks(): Promise<Hook[]> {
    return this.run(
      (sql) => sql<Hook[]>`
        select id, url, secret, to_json(coalesce(events_by_rights, events)) as events, rights, revision::text, attempts,
          json_build_object('run', run, 'position', position::text, 'number', number::text) as checkpoint,
          (extract(epoch from failing_since) * 1000)::float8 as "failingSinceMs",
          (extract(epoch from next_attempt) * 1000)::float8 as "nextAttemptMs"
        from hook where state = 'active' order by id`,
    )
  }

  /**
   * Saves the position of a hook and the state of its deliveries. `parkedFor`: reason to park the hook; null: the hook stays
   * active. Returns false if the hook was changed, or another process is the sender.
   */
  async save(hook: Hook, atMs: number, status: string | null, parkedFor: string | null): Promise<boolean> {
    const { id, revision, checkpoint, failingSinceMs, attempts, nextAttemptMs } = hook
    const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
    const saved = await this.run(
      (sql) => sql`
        update hook set run = ${checkpoint.run}, position = ${checkpoint.position}, number = ${checkpoint.number},
          last_status = coalesce(${status}, last_status),
          last_attempt = case when ${status}::text is null then last_attempt else ${time(atMs)}::timestamptz end,
          failing_since = ${time(failingSinceMs)}::timestamptz, attempts = ${attempts}::int,
          next_attempt = ${time(nextAttemptMs)}::timestamptz,
          state = case when ${parkedFor}::text is null then state else 'parked' end, reason = ${parkedFor},
          since = case when ${parkedFor}::text is null then since else now() end
        where id = ${id} and revision = ${revision}::bigint and state = 'active'
          and (select term from hook_sender) = ${this.term}::bigint`,
    )
    return saved.count === 1
  }

  read(statement: Statement): Promise<Row[]> {
    return this.run((sql) => sql.unsafe(statement.text, parametersOf(statement), { prepare: false }).values()) as Promise<Row[]>
  }

  async end(): Promise<void> {
    this.losing.abort()
    await this.sql.end({ timeout: 0 }).catch(() => undefined)
  }

  private async run<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
    if (this.lost.aborted) throw new Error('the connection of the hooks was lost')
    return await withDeadline(Promise.resolve(work(this.sql)), QUERY_MS_MAX, () => {
      this.losing.abort()
      throw new Error('the database does not answer the sender of hooks')
    })
  }
}
