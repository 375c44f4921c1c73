import type postgres from 'postgres'
import { connectTo } from '../execute/connect.ts'
import type { Row } from '../model/sql.ts'
import { monotonicMs } from '../os/clock.ts'
import { type Copy, lookAt, type Stranger, type Survey, survey } from './catalog.ts'
import type { Ask } from './listenerStatements.ts'
import * as statements from './listenerStatements.ts'
import { Pauses } from './pauses.ts'

export interface ChangeHandlers {
  /** A name that no other start of a server has: who writes with it as `roster.machine` need not notify. */
  readonly machine: string
  /** Nothing is heard while one of them has no trigger that tells of every change. */
  readonly tables: readonly string[]
  /** What of them changes with what else, as this machine's writers tell. */
  readonly copies: readonly Copy[]
  /** Before hearing begins: what changes rows unheard all the same. */
  onStrangers(strangers: readonly Stranger[]): void
  /** Rows of the table were written through a connection of this machine; '' for one that names none. */
  onWrite(table: string, machine: string): void
  /** Hears from now on; what came before is not known. Also while it hears: something may have been missed. */
  onBegin(): void
  /** Has heard all that was committed up to `untilMs` of the monotonic clock, but for the last moments. */
  onPulse(untilMs: number): void
  /** Hears nothing, until it begins again; which it does not by itself where an operator is needed. */
  onEnd(reason: string, needsOperator?: boolean): void
  /** False: no process asks at the moment what is heard, so that a pulse now and then will do. Default: true. */
  isWanted?(): boolean
  /** Before each pulse, whether anything is heard or not. */
  attend(ask: Ask): Promise<void>
}

const PULSE_MS = 50
/** Nobody relies on a pulse that is late; a connection is given up later, since with it goes all that is known. */
const PULSE_MS_MAX = 3_000
const LEAVE_MS_MAX = 500
/** While what is heard is not wanted: between looks whether it is, should a call of `wake` get lost; between pulses. */
const REST_MS = 1_000
const REST_MS_MAX = 5_000
const SWEEP_MS = 10_000
/** A look at the catalog costs PostgreSQL a third of a millisecond. */
const LOOK_MS = 500

export interface Listening {
  /** What is heard is wanted again: ends a rest. */
  wake(): void
  stop(): Promise<void>
}

/** Hears of every write to the database by others; connects again and again. */
export function listenForChanges(url: string, handlers: ChangeHandlers): Listening {
  const pauses = new Pauses()
  let isStopped = false
  let connection = new ListenerConnection(url, handlers)
  let wake = () => {}

  async function beat() {
    while (!isStopped) {
      await pause(await tryPulse())
      await rest()
    }
  }

  /** How long to wait for the next one. */
  async function tryPulse(): Promise<number> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('no pulse')), PULSE_MS_MAX)
    try {
      await Promise.race([connection.pulse(), late.promise])
      if (!connection.isLive) return pauses.after(null)
      pauses.reset()
      return PULSE_MS
    } catch (error) {
      connection.close((error as Error).message)
      if (!isStopped) connection = new ListenerConnection(url, handlers)
      return pauses.after(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Most servers wait for requests most of the time, and a pulse costs here and in PostgreSQL. What was notified meanwhile is
   * heard at once, and before the next pulse says so nothing is told from memory.
   */
  async function rest() {
    const untilMs = performance.now() + REST_MS_MAX
    const isIdle = () => !isStopped && connection.isLive && handlers.isWanted?.() === false
    while (isIdle() && performance.now() < untilMs) await pause(REST_MS)
  }

  async function pause(ms: number) {
    if (isStopped) return
    await new Promise<void>((resolve) => {
      wake = resolve
      setTimeout(resolve, ms)
    })
  }

  const ended = beat()
  return {
    wake: () => wake(),
    async stop() {
      isStopped = true
      wake()
      await ended
      // Others must not notify for somebody who has gone. If it does not work out, they find out by themselves.
      await Promise.race([connection.leave().catch(() => undefined), Bun.sleep(LEAVE_MS_MAX)])
      connection.close('stopped')
    },
  }
}

/**
 * One connection, and what it has heard.
 *
 * **Nothing is missed.** Who writes looks into `change_listener` behind its rows, in a trigger, and notifies if somebody
 * else stands there. First this connection listens, then its row is committed. Whoever looks from then on sees the row.
 * Whoever looked before has written to the table before, and holds a lock on it until its end. So who holds such a lock
 * after the row was committed is noted, and only when they all have let go does hearing begin: with that, all that was
 * known before is forgotten. (A prepared transaction keeps its lock. None is prepared after it has notified.)
 *
 * A pulse finds that this is still the same connection, whose row is there; PostgreSQL has sent what was notified before
 * it answers. Where that is not so, all begins anew over another connection. A pooler between, which could give one
 * client's connection to another, would not let the setting through that the pulse looks for.
 *
 * **What nothing tells of.** A trigger, a rule or a foreign key that is not ours changes other tables within our own
 * statements, of which the machine's name says that they are told elsewhere; a child table is written past its parent's
 * trigger; a column gets another type, and each row another value. `survey` finds what there is of that, before hearing
 * begins, and some times a second a look finds whether any table has been touched since. If so, all begins anew too: with
 * that what was known is forgotten, and while there is such a thing nothing is kept of the tables that it reaches. What was
 * there, and has gone before anybody looked, PostgreSQL has counted, and says so some seconds later: then all is forgotten
 * once more. (It does not count with `track_counts` off. Functions that a column's default or a constraint calls, and that
 * write, are beyond this.)
 */
class ListenerConnection {
  isLive = false
  private isClosed = false
  private readonly sql: postgres.Sql
  /** The tables as they were before the row was written; null: there is no row yet. */
  private found: Survey | null = null
  private changes: string | null = null
  private lookedMs = 0
  /** Transactions that may have written before they could see it. */
  private writers = ''
  private sweptMs = 0

  constructor(
    url: string,
    private readonly handlers: ChangeHandlers,
  ) {
    this.sql = this.connect(url)
  }

  /** @throws Error when the connection is of no use any more */
  async pulse(): Promise<void> {
    const { handlers } = this
    const askedMs = monotonicMs()
    await handlers.attend(this.ask)
    if (this.found === null) {
      const found = await survey(this.ask, handlers.tables, handlers.copies)
      const untold = handlers.tables.filter((table) => !found.told.includes(table))
      if (untold.length > 0) return handlers.onEnd(`no trigger tells of all changes of ${untold.join(' and ')}`, true)
      handlers.onStrangers(found.strangers)
      await this.register()
      this.found = found
    }
    await this.look(this.found)
    await this.requireRow()
    if (!this.isLive && (await this.hasOldWriters())) return handlers.onEnd('who writes since before does not end')
    await this.sweep()
    if (!this.isLive) handlers.onBegin()
    this.isLive = true
    handlers.onPulse(askedMs)
  }

  /** From now on nobody has to notify. */
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
      onnotify: (_: string, payload: string) => {
        const [table = '', machine = ''] = payload.split(' ')
        this.handlers.onWrite(table, machine)
      },
      connection: statements.listenerSettings(this.handlers.machine),
    })
  }
}
