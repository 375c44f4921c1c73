import type postgres from 'postgres'
import { connectTo } from '../execute/connect.ts'
import type { Row } from '../model/sql.ts'
import { monotonicMs } from '../os/clock.ts'
import { lookAt, type Survey, survey } from './catalog.ts'
import type { Change } from './change.ts'
import type { FollowConnection, FollowHandlers } from './follow.ts'
import type { Ask } from './listenerStatements.ts'
import * as statements from './listenerStatements.ts'
import { type RowForm, readNotification } from './notification.ts'
import { TransactionEnds } from './transactionEnds.ts'

/** What is heard by NOTIFY says which row has changed, or only of which table. */
export interface ListenerHandlers extends FollowHandlers {
  /** Rows of the table were written through a connection of this machine; '' for one that names none. */
  onWrite(table: string, machine: string): void
  /** This row was written through one. */
  onRow(table: string, machine: string, change: Change): void
  /** Of this transaction of another machine, some of whose rows were written so, all are known. */
  onEndOf(transaction: number): void
  /** By table, of which columns rows are made. */
  readonly columns: ReadonlyMap<string, readonly string[]>
}

const SWEEP_MS = 10_000
/** A look at the catalog costs PostgreSQL a third of a millisecond. */
const LOOK_MS = 500

/**
 * One connection that listens.
 *
 * **Nothing is missed.** After each statement the trigger of a table reads `change_listener`, and sends NOTIFY if another
 * machine is registered. First this connection listens, then its row is committed. A transaction that reads from then on
 * sees the row. One that has read before holds a lock on the table until its end. So the holders of such locks after the
 * row's commit are noted, and the connection is live only when all of them have let go; with that, every cache is dropped.
 * (A prepared transaction keeps its lock. None is prepared after it has notified.)
 *
 * A pulse finds that this is still the same connection, whose row is there; PostgreSQL has sent what was notified before
 * it answers. Where that is not so, all begins again over another connection. A pooler between, which could give one
 * client's connection to another, would not let the setting through that the pulse looks for.
 *
 * **What sends no notification.** A trigger, a rule or a foreign key that is not ours changes other tables within our own
 * statements, which carry this machine's name and so do not notify it; a child table is written past its parent's trigger;
 * a column gets another type, and each row another value. `survey` finds such things before the connection is live, and
 * some times a second a look finds whether any table was touched since. If so, all begins again too: with that every cache
 * is dropped, and while there is such a thing nothing is cached of the tables that it reaches. What was made and dropped
 * between two looks PostgreSQL has counted, and says so some seconds later: then every cache is dropped once more. (It does
 * not count with `track_counts` off. Functions that a column's default or a constraint calls, and that write, are beyond
 * this.)
 */
export class ListenerConnection implements FollowConnection {
  isLive = false
  private isClosed = false
  private readonly sql: postgres.Sql
  /** The tables as they were before the row was written; null: there is no row yet. */
  private found: Survey | null = null
  /** By table: how its rows are notified. */
  private readonly forms = new Map<string, RowForm>()
  private changes: string | null = null
  private lookedMs = 0
  /** Transactions that may have written before they could see it. */
  private writers = ''
  private sweptMs = 0
  private readonly ends: TransactionEnds

  constructor(
    url: string,
    private readonly handlers: ListenerHandlers,
  ) {
    this.sql = this.connect(url)
    this.ends = new TransactionEnds(
      () => this.ask('select'),
      (transaction) => this.isClosed || handlers.onEndOf(transaction),
    )
  }

  /** @throws Error when the connection is of no use any more */
  async pulse(): Promise<void> {
    const { handlers } = this
    const askedMs = monotonicMs()
    await handlers.attend(this.ask)
    if (this.found === null) {
      const found = await survey(this.ask, handlers.tables, handlers.copies)
      const silent = handlers.tables.filter((table) => !found.notifying.has(table))
      if (silent.length > 0)
        return handlers.onEnd(`no trigger notifies of all changes of ${silent.join(' and ')}`, true)
      handlers.onStrangers(found.strangers)
      for (const [table, columns] of found.notifying)
        this.forms.set(table, formOf(handlers.columns.get(table), columns))
      await this.register()
      this.found = found
    }
    await this.look(this.found)
    await this.requireRow()
    if (!this.isLive && (await this.hasOldWriters()))
      return handlers.onEnd('waiting for transactions older than LISTEN')
    await this.sweep()
    if (!this.isLive) handlers.onBegin()
    this.isLive = true
    handlers.onPulse(askedMs)
  }

  /** Other machines need not notify this one any more. */
  async leave(): Promise<void> {
    if (this.found !== null) await this.ask(statements.deleteListener, [this.handlers.machine])
  }

  close(reason: string): void {
    if (!this.isClosed) this.handlers.onEnd(reason)
    this.isClosed = true
    this.isLive = false
    this.sql.end({ timeout: 0 }).catch(() => undefined)
  }

  private async register() {
    const { machine, tables } = this.handlers
    await this.ask(statements.listen)
    await this.ask(statements.insertListener, [machine])
    const writers = await this.ask(statements.selectWriters, [JSON.stringify(tables)])
    this.writers = JSON.stringify(writers.flat())
  }

  /** @throws Error when a table is not any more what it was */
  private async look({ watched, signs }: Survey) {
    const nowMs = performance.now()
    if (this.isLive && nowMs - this.lookedMs < LOOK_MS) return
    this.lookedMs = nowMs
    const now = await lookAt(this.ask, watched)
    if (now.signs !== signs) throw new Error('the tables, or what belongs to them, have changed')
    if (this.isLive && now.changes !== this.changes) this.handlers.onBegin()
    this.changes = now.changes
  }

  private async requireRow() {
    const rows = await this.ask(statements.selectListener, [this.handlers.machine])
    if (rows.length === 0) throw new Error('the connection is another, or its row has gone')
  }

  private async hasOldWriters(): Promise<boolean> {
    const { tables } = this.handlers
    const left = await this.ask(statements.selectWritersLeft, [JSON.stringify(tables), this.writers])
    return left.length > 0
  }

  /** A machine that has died costs the others its notifications no longer than this. */
  private async sweep() {
    const nowMs = performance.now()
    if (this.isLive && nowMs - this.sweptMs < SWEEP_MS) return
    await this.ask(statements.deleteGone)
    this.sweptMs = nowMs
  }

  private readonly ask: Ask = async (text, values = []) => {
    if (this.isClosed) throw new Error('the connection is closed')
    const rows = await this.sql.unsafe(text, values as string[], { prepare: true, simple: false } as object).values()
    if (this.isClosed) throw new Error('the connection is closed')
    return rows as unknown as Row[]
  }

  private connect(url: string): postgres.Sql {
    return connectTo(url, {
      max: 1,
      onclose: () => this.close('the connection was lost'),
      onnotify: (_: string, payload: string) => this.hear(payload),
      connection: statements.listenerSettings(this.handlers.machine),
    })
  }

  private hear(payload: string) {
    const { table, machine, change } = readNotification(payload, (name) => this.forms.get(name))
    // What comes of a connection that was given up may have been undone since, and belongs to no epoch of now.
    if (change === null || this.isClosed) this.handlers.onWrite(table, machine)
    else {
      this.ends.note(machine === this.handlers.machine ? null : change.transaction)
      this.handlers.onRow(table, machine, change)
    }
  }
}

function formOf(wanted: readonly string[] = [], columns: readonly string[]): RowForm {
  return { places: wanted.map((column) => columns.indexOf(column)), width: columns.length }
}
