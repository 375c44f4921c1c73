// Writes that may take a minute, such as renames that many rows copy: one after the other, over a connection of their own.
import type { BatchableStatement } from '../model/batch.ts'
import type { Row } from '../model/sql.ts'
import { withDeadline } from '../os/time.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { LONG_QUERY_MS_MAX, LONG_STATEMENT_MS_MAX, LONG_WRITE_WAIT_MS_MAX } from './limits.ts'
import { retryLater } from './outcomes.ts'

/** Writes that wait or run; further ones are refused at once. */
const WAITING_MAX = 8

/** A queue of writes that other statements need not wait for. */
export class LongWrites {
  private readonly own: Database
  private last: Promise<unknown> = Promise.resolve()
  private waiting = 0

  constructor(options: DatabaseOptions) {
    const limits = { poolSize: 1, statementMsMax: LONG_STATEMENT_MS_MAX, queryMsMax: LONG_QUERY_MS_MAX }
    const name = options.name === undefined ? {} : { name: `${options.name}/long` }
    this.own = new Database({ ...options, ...limits, ...name, kind: 'longWrite' })
  }

  /** Runs a statement when its turn has come, again only when it had no effect. @throws as `Database.write` */
  async write({ text, values, claim, keyId }: BatchableStatement): Promise<Row[]> {
    if (this.waiting >= WAITING_MAX) throwBusy()
    this.waiting++
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.last = before.then(() => promise)
    try {
      await withDeadline(before, LONG_WRITE_WAIT_MS_MAX, throwBusy)
      return await this.own.write({ text, values, claim, keyId })
    } finally {
      this.waiting--
      resolve()
    }
  }

  get load(): Database['load'] {
    return { queries: this.waiting, sent: this.own.load.sent }
  }

  async end(): Promise<void> {
    await this.own.end()
  }
}

function throwBusy(): never {
  const message = 'Other changes of names that many rows copy are under way; retry after the seconds in Retry-After.'
  throw retryLater(message, undefined, 10)
}
