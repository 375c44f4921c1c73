import { ApiError } from '../errors.ts'
import type { Batchable } from '../model/batch.ts'
import { param, type Row, type Statement, sql, toStatement } from '../model/sql.ts'
import { withDeadline } from '../os/deadline.ts'
import { Database, type DatabaseOptions } from './database.ts'
import type { Observe, WriteObserver } from './work.ts'

/** The limits of every other statement, for these. */
const LONG_STATEMENT_MS_MAX = 60_000
const LONG_QUERY_MS_MAX = 65_000
/** A write that has waited this long for its turn is refused. */
const TURN_MS_MAX = 30_000
/** Writes that wait or run; further ones are refused at once. */
const WAITING_MAX = 8
/** The longest that a client may wait for its answer. */
export const LONG_WRITE_MS_MAX = TURN_MS_MAX + LONG_QUERY_MS_MAX
/** The pause between attempts to find the transaction. */
const LOOK_MS = 25

/**
 * Runs writes that may take a minute, one after the other over a connection of their own, so that others need not wait
 * for them. While one runs, its transaction's id is looked up: by it readers know at once that they have not seen it.
 */
export class LongWrites {
  private readonly own: Database
  private readonly name: string | null
  private last: Promise<unknown> = Promise.resolve()
  private waiting = 0

  /** `database`: the connections over which the transaction is looked up. */
  constructor(
    private readonly database: Database,
    options: DatabaseOptions,
  ) {
    const connections = options.changes ? `${options.changes.connections}/long` : null
    this.name = connections
    const changes = options.changes && { ...options.changes, connections: connections as string }
    const limits = {
      kind: 'longWrite' as const,
      poolSize: 1,
      statementMsMax: LONG_STATEMENT_MS_MAX,
      queryMsMax: LONG_QUERY_MS_MAX,
    }
    const name = options.name === undefined ? {} : { name: `${options.name}/long` }
    this.own = new Database({ ...options, ...limits, ...name, changes: changes ?? null })
  }

  /** Runs a statement when its turn has come, again only when it had no effect. @throws as `Database.write` */
  async write({ text, values, once }: Batchable, observe: Observe | null = null): Promise<Row[]> {
    if (this.waiting >= WAITING_MAX) throw busy()
    this.waiting++
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.last = before.then(() => promise)
    try {
      await withDeadline(before, TURN_MS_MAX, () => {
        throw busy()
      })
      return await this.own.write({ text, values, once }, observe && this.identifying(observe))
    } finally {
      this.waiting--
      resolve()
    }
  }

  get load(): Database['load'] {
    return { queries: this.waiting, sent: this.own.load.sent }
  }

  async end(): Promise<void> {
    await this.own.end(0)
  }

  /** Looks the write's transaction up while it runs. */
  private identifying(observe: Observe): Observe {
    if (this.name === null) return observe
    return () => {
      const observer = observe()
      let isRunning = true
      this.identify(observer, () => isRunning)
      return {
        identify: observer.identify,
        settle(rows) {
          isRunning = false
          return observer.settle(rows)
        },
      }
    }
  }

  /** Until the transaction is known, readers wait for the write, which is right too. */
  private async identify(observer: WriteObserver, isRunning: () => boolean) {
    while (isRunning()) {
      await Bun.sleep(LOOK_MS)
      const [row] = await this.database.read(selectTransaction(this.name as string)).catch(() => [])
      if (!row?.[0] || !isRunning()) continue
      observer.identify(Number(row[0]))
      return
    }
  }
}

function selectTransaction(connections: string): Statement {
  return toStatement(
    sql`select backend_xid::text from pg_stat_activity where starts_with(application_name, ${param(`${connections}/`)}) and backend_xid is not null`,
  )
}

function busy(): ApiError {
  const message = 'Other changes of names that many rows copy are under way; retry after the seconds in Retry-After.'
  return new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '10' } })
}
