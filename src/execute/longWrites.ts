// Writes that can take a minute, such as changes of names that many rows copy: they run one by one, over a separate connection.
import type { BatchableStatement } from '../model/batch.ts'
import type { Row } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { LONG_QUERY_MS_MAX, LONG_STATEMENT_MS_MAX, LONG_WRITE_WAIT_MS_MAX, LONG_WRITES_MAX } from './limits.ts'
import { retryLater } from './outcomes.ts'

/** A queue of long writes, over a connection that no other statement uses. */
export class LongWrites {
  private readonly database: Database
  /** Resolves when the last write of the queue has ended. */
  private last: Promise<unknown> = Promise.resolve()
  /** Number of writes that wait or run. */
  private queued = 0

  constructor(options: DatabaseOptions) {
    const limits = { poolSize: 1, statementMsMax: LONG_STATEMENT_MS_MAX, queryMsMax: LONG_QUERY_MS_MAX }
    const name = options.name === undefined ? {} : { name: `${options.name}/long` }
    this.database = new Database({ ...options, ...limits, ...name, kind: 'longWrite' })
  }

  /**
   * Runs a statement after the long writes that came earlier. Sends it again only if the write cannot be done twice.
   * `requireAllowed`: called when it is the statement's turn, because the API key may have lost the right meanwhile. @throws as
   * `Database.write` and `requireAllowed`; ApiError 503
   */
  async write({ text, values, claim, keyId }: BatchableStatement, requireAllowed: () => Promise<void>): Promise<Row[]> {
    if (this.queued >= LONG_WRITES_MAX) throwBusy()
    this.queued++
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.last = before.then(() => promise)
    try {
      await withDeadline(before, LONG_WRITE_WAIT_MS_MAX, throwBusy)
      await requireAllowed()
      return await this.database.write({ text, values, claim, keyId })
    } finally {
      this.queued--
      resolve()
    }
  }

  get load(): Database['load'] {
    return { queries: this.queued, sent: this.database.load.sent }
  }

  async end(): Promise<void> {
    await this.database.end()
  }
}

function throwBusy(): never {
  const message = 'Other changes of names that many rows copy are under way; retry after the seconds in Retry-After.'
  throw retryLater(message, undefined, 10)
}
